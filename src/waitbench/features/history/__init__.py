"""The history of a cost: of all stored comparisons, on one machine each."""
