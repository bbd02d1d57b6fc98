"""Frozen data and nothing else: what flows from what was typed to the chart. No I/O."""
