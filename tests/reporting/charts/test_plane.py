"""CPU against latency, read from the figures."""

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from tests.records import times
from tests.reporting.charts.figures import compared, points, steady_runs
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import plane
from waitbench.reporting.drawing import looks


def draw(comparison: Comparison) -> Figure:
    return plane.draw(comparison, looks([row.label for row in comparison.rows]))


def test_the_trade_off_has_a_dot_a_run_and_intervals_within_the_frame() -> None:
    comparison = compared({"a": steady_runs(9), "b": [], "c": steady_runs(8, factor=0.01)})
    assert plane.has_data(comparison)
    figure = draw(comparison)
    (axes,) = figure.axes
    assert len(points(axes)) == 16
    assert points(axes)[0] == pytest.approx((1.0, 0.5)), "milliseconds, and cores"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "c"]
    assert "no run: b" in axes.get_title()
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in (c for c in axes.containers if isinstance(c, ErrorbarContainer)):
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_there_is_a_trade_off_only_where_items_are_due_over_time() -> None:
    assert not plane.has_data(compared({"a": steady_runs(2)}, waits=False))
    assert not plane.has_data(compared({"a": [times(1, 1, 1)], "b": []}))
