"""Judges measured runs: ratios with intervals, and the verdict of the gate. No I/O."""
