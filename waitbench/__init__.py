"""The harness behind runner.py: one module per station of the data's way (see CONTRIBUTING.md)."""
