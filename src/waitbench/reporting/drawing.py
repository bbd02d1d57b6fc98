"""Marks, colours and axes, shared by consoles, pages and charts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, cycle

from waitbench.model.verdicts import Estimate, Verdict
from waitbench.reporting.formats import factor_of, format_digits

NOT_COMPARED, FAILURE, WARNING, HOLDS = "–", "✗", "!", "✓"
"""Marks: nothing to compare; a failure; a caution; within its limit."""
MARKS = {
    Verdict.SLOWER: "▲",
    Verdict.FASTER: "▼",
    Verdict.INCONCLUSIVE: "?",
    Verdict.WITHIN_MARGIN: "=",
}
MARK_STYLES = {
    "▼": "green",
    "▲": "red",
    "=": "dim",
    "?": "dim",
    HOLDS: "green",
    FAILURE: "bold red",
    WARNING: "yellow",
    NOT_COMPARED: "dim",
}
"""Styles of rich by mark: green is less, red is more, dim is open."""
COLOURS = ("#8a8f98", "#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#8C5A2B", "#7A52B3")
"""Colours of revisions, the baseline's first, of Okabe and Ito's palette for colour-blind people.

See jfly.uni-koeln.de/color. Red and green are left out: they mean more and less.
"""
TONES = {"green": "#0b6b3a", "red": "#a32014", "yellow": "#7a4d00"}
"""The colours of styles in charts; any other style is grey."""
_VERY_WIDE = 10.0
"""An interval that ends this many times farther from 1 than its estimate may leave the axis."""
_REACHES = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""The factors from the middle of an axis of ratios to its ends."""


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    baseline, *others = COLOURS
    return dict(zip(labels, chain([baseline], cycle(others)), strict=False))


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a long text, because names differ at their ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """Values and their labels."""

    @classmethod
    def of_ratios(cls, reach: float, middle: str = "1") -> "Axis":
        """From ``1 / reach`` to ``reach``; ``middle`` labels the tick at 1."""
        text = format_digits(reach)
        return cls(1 / reach, reach, ((1 / reach, f"÷{text}"), (1.0, middle), (reach, f"×{text}")))

    @classmethod
    def over(cls, ratios: Iterable[Estimate], middle: str = "1") -> "Axis":
        """The shortest axis that holds all ratios and intervals.

        If the ratio is a bound, or its interval very wide, only the ratio has to be on the axis.
        """
        most = max(map(_reach, ratios), default=1.0)
        reach = next((reach for reach in _REACHES if reach >= most), _REACHES[-1])
        return cls.of_ratios(reach, middle)

    @property
    def is_of_ratios(self) -> bool:
        return math.isclose(self.low * self.high, 1.0)

    def place(self, value: float) -> float:
        """The position of a value: 0 to 1 within the axis, below 0 or above 1 beyond its ends."""
        return math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)

    def clipped(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def _reach(ratio: Estimate) -> float:
    """The factor from 1 that an axis needs for a ratio and its interval."""
    reach = factor_of(ratio.value)
    widest = max([reach, *(factor_of(end) for end in (ratio.low, ratio.high) if end)])
    return reach if ratio.is_bound or widest > reach * _VERY_WIDE else widest
