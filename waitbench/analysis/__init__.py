"""Records -> answers. Pure."""
