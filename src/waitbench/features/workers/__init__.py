"""Compares the idle costs of workers."""
