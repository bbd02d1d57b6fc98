"""Data classes without I/O, shared by all layers."""
