"""The command line: one module a command; each validates, then calls the stations in order."""
