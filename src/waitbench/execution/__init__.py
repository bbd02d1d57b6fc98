"""Carries out runs: an environment and a scenario give a measurement or a failed run."""
