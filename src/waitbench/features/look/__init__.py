"""Costs of workers that are already running, counted from outside."""
