"""Comparisons to draw, and what a drawn figure holds."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from tests.records import make_record, times
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison

Runs = Sequence[Mapping[str, float]]


def compared(runs: Mapping[str, Runs], **changes: Any) -> Comparison:
    return statistics.compare(make_record(runs, **changes))


def steady_runs(count: int, factor: float = 1.0) -> list[dict[str, float]]:
    """Runs that differ a little, with what the trade-off needs."""
    return [
        {
            **times(5 + n / 10, factor * (2 + n / 10), factor * (0.5 + n / 100)),
            "item_latency_p99": 0.001 * (n + 1),
            "cpu_share_steady": factor * (0.5 + n / 100),
        }
        for n in range(count)
    ]


def points(axes: Axes) -> list[tuple[float, float]]:
    """The places of all dots of a panel."""
    found = [drawn for drawn in axes.collections if isinstance(drawn, PathCollection)]
    return [(x, y) for drawn in found for x, y in np.asarray(drawn.get_offsets()).tolist()]


def bars(axes: Axes) -> list[Rectangle]:
    """The bars of a panel, in the order in which they were drawn."""
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def notes(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def xs(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_xdata()))


def ys(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_ydata()))
