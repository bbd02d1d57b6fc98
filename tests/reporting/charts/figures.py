"""Comparisons to draw, and what a drawn figure says."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

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


def notes(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def xs(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_xdata()))


def ys(line: Line2D) -> list[float]:
    return list(cast("list[float]", line.get_ydata()))
