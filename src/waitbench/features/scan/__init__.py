"""Measures the cost of a worker at several values of a parameter."""
