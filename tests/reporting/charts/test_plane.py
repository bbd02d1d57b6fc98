"""CPU against latency, read from the figures."""

import pytest
from matplotlib.container import ErrorbarContainer

from tests.records import times
from tests.reporting.charts.figures import compared, steady_runs, xs, ys
from waitbench.analysis import results
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import plane


def points_of(comparison: Comparison) -> plane.Points:
    return plane.points_of(results.of_comparisons([comparison]), "a")


def test_the_trade_off_has_means_with_intervals_within_the_frame() -> None:
    comparison = compared({"a": steady_runs(9), "b": [], "c": steady_runs(8, factor=0.01)})
    figure = plane.draw("idle", points_of(comparison), "abc")
    (axes,) = figure.axes
    drawn = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    means = [(xs(dot)[0], ys(dot)[0]) for dot in (one.lines[0] for one in drawn) if dot]
    assert means == [
        pytest.approx((4.5, 0.535)), pytest.approx((4.5, 0.00535)),
    ], "milliseconds, and cores"  # fmt: skip
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "c"]
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in drawn:
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_there_is_a_trade_off_only_where_items_are_due_over_time() -> None:
    assert points_of(compared({"a": steady_runs(2)}, waits=False)) == {}
    assert points_of(compared({"a": [times(1, 1, 1)], "b": []})) == {}
    assert list(points_of(compared({"a": steady_runs(2)}))) == ["a"]
