"""A comparison measured by many machines, in shares that dask carries."""
