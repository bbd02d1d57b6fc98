"""Samples of threads: which of them wake up or use CPU, and in which functions."""
