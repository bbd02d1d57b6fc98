"""The machine and the operating system: places, processes, files, what else runs."""
