"""The colours of revisions, the same in every chart."""

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Okabe and Ito's palette, which colour-blind readers can tell apart (jfly.uni-koeln.de/color)."""
