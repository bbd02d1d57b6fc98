"""The history of a cost over all stored comparisons, and its change points."""
