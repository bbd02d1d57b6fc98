"""The machine and its operating system: paths, files, processes, counters, other load."""
