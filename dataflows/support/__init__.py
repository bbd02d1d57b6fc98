"""What all workloads share. Runs in a revision's own environment: standard library and bytewax."""
