"""Families ``partitioned`` and ``dynamic``: workers that wait for their input."""
