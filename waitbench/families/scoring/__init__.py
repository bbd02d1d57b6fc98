"""Family ``scoring``: workers that wait for a model."""
