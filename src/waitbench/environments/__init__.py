"""Resolves texts to revisions, and builds and installs their environments."""
