"""One file a command: how it is typed, and what it calls."""
