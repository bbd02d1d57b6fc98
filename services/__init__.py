"""Servers that workloads talk to: an embedding service, and a proxy that batches for it.

The harness runs them, but they can be run by hand.
"""
