"""Finds which threads wake up or use CPU, and in which functions."""
