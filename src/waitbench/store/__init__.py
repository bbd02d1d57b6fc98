"""Records <-> files."""
