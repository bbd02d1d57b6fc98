"""Costs of workers that run already, counted from outside."""
