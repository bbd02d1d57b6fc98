"""Records -> answers. No I/O."""
