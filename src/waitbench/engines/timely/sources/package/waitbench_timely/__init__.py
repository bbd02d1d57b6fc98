"""The workloads on timely dataflow: a program in Rust, ``waitbench-timely``, beside the Python."""

TIMELY = "@VERSION@"
"""The version of timely dataflow that the program is built with."""
SOURCES = "@SOURCES@"
"""The digest of the program's sources, as nothing else in this folder tells two of them apart."""
