"""Estimates -> cells: a figure, its interval, and the colour that says how far it is from 1."""

import math

from waitbench.analysis.statistics import Estimate
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import Metric
from waitbench.reporting.page.parts import Cell
from waitbench.reporting.tables import format_interval, format_value

NOTHING = Cell(text="–")
_TONES = 4
"""Shades on either side of no change."""
_DOUBLINGS_A_TONE = 0.5
_MARKS = {Verdict.FASTER: "▼", Verdict.SLOWER: "▲", Verdict.INCONCLUSIVE: "?"}


def ratio_cell(ratio: Estimate | None, note: str = "") -> Cell:
    """A ratio; a sign says what it means to who cannot tell the colours apart.

    ``note``: the marks of the notes below the table that are about it.
    """
    if ratio is None:
        return NOTHING
    mark = _MARKS.get(ratio.verdict)
    return Cell(
        text=f"× {ratio.value:.3g}{note}" + (f" {mark}" if mark else ""),
        sort=ratio.value,
        tone=tone(ratio),
        more=format_interval(ratio),
    )


def value_cell(estimate: Estimate | None, metric: Metric, ratio: Estimate | None) -> Cell:
    """A value with its unit, and below it the ratio to the baseline."""
    if estimate is None:
        return NOTHING
    more = f"× {ratio.value:.3g} {format_interval(ratio)}".rstrip() if ratio else ""
    return Cell(
        text=format_value(estimate.value, metric),
        sort=estimate.value,
        tone=tone(ratio) if ratio else "",
        more=more,
    )


def tone(ratio: Estimate) -> str:
    """The name of a colour: ``less4`` … ``less1``, ``same``, ``unclear``, ``more1`` … ``more4``."""
    if ratio.verdict is Verdict.INCONCLUSIVE:
        return "inconclusive"
    if ratio.verdict is Verdict.WITHIN_MARGIN or ratio.value <= 0:
        return "within margin"
    doublings = abs(math.log2(ratio.value))
    shade = min(_TONES, 1 + int(doublings / _DOUBLINGS_A_TONE))
    return f"{'less' if ratio.value < 1 else 'more'}{shade}"
