"""CPU against latency, read from the figures."""

import pytest
from matplotlib.container import ErrorbarContainer

from tests.records import times
from tests.reporting.charts.figures import compared, legend_of, points, steady_runs
from waitbench.reporting.charts import plane


def test_the_trade_off_has_a_dot_a_run_and_intervals_within_the_frame() -> None:
    comparison = compared({"a": steady_runs(9), "b": [], "c": steady_runs(8, factor=0.01)})
    assert plane.has_data(comparison)
    figure = plane.draw(comparison)
    (axes,) = figure.axes
    assert len(points(axes)) == 16
    assert points(axes)[0] == pytest.approx((1.0, 0.5)), "milliseconds, and cores"
    assert legend_of(figure) == ["a", "b", "c"]
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in (c for c in axes.containers if isinstance(c, ErrorbarContainer)):
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_the_trade_off_is_linear_from_zero_where_points_are_close() -> None:
    (axes,) = plane.draw(compared({"a": steady_runs(4)})).axes
    assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
    assert axes.get_ylim()[1] > 0.53
    still = [{**run, "item_latency_p99": 0.0} for run in steady_runs(4)]
    (axes,) = plane.draw(compared({"a": still})).axes
    assert (axes.get_xscale(), axes.get_xlim()) == ("linear", (0, 1))


def test_there_is_a_trade_off_only_where_items_are_due_over_time() -> None:
    assert not plane.has_data(compared({"a": steady_runs(2)}, waits=False))
    assert not plane.has_data(compared({"a": [times(1, 1, 1)], "b": []}))
