"""The machine and the operating system: paths, processes, files, what else runs."""
