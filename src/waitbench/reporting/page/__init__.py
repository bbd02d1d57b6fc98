"""Comparisons -> one HTML file to look at: what was found, every run, and how it was measured."""
