"""What every workload shares. Runs inside a revision's own virtualenv: standard library and bytewax only."""
