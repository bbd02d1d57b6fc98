"""Ways to have a model score lines within a time limit: in this process, or behind pipes."""
