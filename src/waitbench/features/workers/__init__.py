"""The idle costs of workers that are commands, side by side."""
