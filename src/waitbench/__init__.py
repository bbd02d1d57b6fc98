"""Measures the CPU that stream-processing workers use while they wait."""

VERSION = "0.2.0"
"""Of this package, as result files keep it."""
