"""Measures the cost of a worker at several values of a parameter, and of each further input."""
