"""A comparison on several machines: shared out, carried out there, and merged."""
