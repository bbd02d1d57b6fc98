"""Servers that workloads talk to: an embedding service, and a proxy that batches for it. Run by the harness, or by hand."""
