"""What charts of either kind, files and those of a page, share."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
"""Of revisions: Okabe and Ito's palette, which colour-blind readers can tell apart.

See jfly.uni-koeln.de/color.
"""
_FAR_APART = 5
"""From this factor on a scale is logarithmic, so that what is small can be told apart too."""
_FENCE = 3.0
"""What lies so many quartile distances beyond a quartile is an outlier: Tukey's "far out"."""
_LEAST_DISTANCE = 0.2
"""Of the quartiles, in doublings: equal values have no outliers a few per cent away."""


@dataclass(frozen=True)
class Look:
    """How a revision is drawn."""

    colour: str
    turn: int
    """How many before it have this colour: each has a marker of its own."""


def looks(labels: Sequence[str], engines: Mapping[str, str] | None = None) -> dict[str, Look]:
    """The look of each revision, in order.

    One colour an engine, where there are several by label; else one colour a revision, and from the
    ninth on the same colours again.
    """
    of = {label: (engines or {}).get(label, "") for label in labels}
    groups = list(dict.fromkeys(of.values()))
    found: dict[str, Look] = {}
    for number, label in enumerate(labels):
        if len(groups) > 1:
            place = groups.index(of[label])
            turn = sum(of[other] == of[label] for other in labels[:number])
        else:
            place, turn = number, number // len(COLOURS)
        found[label] = Look(COLOURS[place % len(COLOURS)], turn)
    return found


def are_far_apart(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale tells all of them apart."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > _FAR_APART


def fences(ratios: Sequence[float]) -> tuple[float, float]:
    """The ends between which ratios are no outliers, by J. Tukey, "Exploratory Data Analysis".

    On their logarithms, so that half and twice are as far from 1.
    """
    logs = [math.log2(ratio) for ratio in ratios if ratio > 0]
    if len(logs) < 2:
        return 0.0, math.inf
    low, _, high = quantiles(logs, n=4, method="inclusive")
    reach = _FENCE * max(high - low, _LEAST_DISTANCE)
    return 2 ** (low - reach), 2 ** (high + reach)
