"""Servers that workloads talk to. The harness runs them, but they can be run by hand."""
