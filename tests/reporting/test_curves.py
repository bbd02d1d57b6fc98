"""Cost against a number, read from the figure."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.analysis.scanned import VALUES, scan_records
from waitbench.analysis.scan import scans
from waitbench.reporting.charts import curves
from waitbench.reporting.drawing import COLOURS


def xs(line: Line2D) -> list[float]:
    return [float(value) for value in np.asarray(line.get_xdata())]


def ys(line: Line2D) -> list[float]:
    return [float(value) for value in np.asarray(line.get_ydata())]


def cost(factor: float) -> Callable[[float], float]:
    return lambda n: factor * (0.02 + 0.0002 * n)


def drawn(factors: Mapping[str, float]) -> Figure:
    (found,) = scans(scan_records({label: cost(factor) for label, factor in factors.items()}))
    figure = curves.draw(found)
    assert figure is not None
    return figure


def dots_of(figure: Figure) -> list[Line2D]:
    (axes,) = figure.axes
    bars = [one.lines[0] for one in axes.containers if isinstance(one, ErrorbarContainer)]
    return [dots for dots in bars if dots is not None]


def test_the_curve_of_each_revision_has_means_with_intervals_within_the_frame() -> None:
    figure = drawn({"a": 1, "b": 0, "c": 0.01})
    (axes,) = figure.axes
    means = [dict(zip(xs(it), ys(it), strict=True)) for it in dots_of(figure)]
    assert [of[VALUES[-1]] for of in means] == [
        pytest.approx(22.5, rel=0.03), pytest.approx(0.225, rel=0.03),
    ], "per cent of a core; what costs nothing has none"  # fmt: skip
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "c"]
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in axes.containers:
        assert isinstance(bars, ErrorbarContainer)
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_what_shares_a_colour_has_a_marker_of_its_own() -> None:
    figure = drawn({f"v{number}": 1 + number for number in range(3 * len(COLOURS))})
    looks = [(dot.get_color(), dot.get_marker()) for dot in dots_of(figure)]
    assert len({colour for colour, _ in looks}) == len(COLOURS)
    assert len(set(looks)) == len(looks)
