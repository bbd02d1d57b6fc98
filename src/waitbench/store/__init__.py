"""Reads and writes result files."""
