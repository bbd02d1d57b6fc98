"""CPU against latency, read from the figures."""

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.records import times
from tests.reporting.charts.figures import compared, notes, points, steady_runs
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
    assert notes(axes) == ["a", "c"]
    assert "no run: b" in axes.get_title()
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in (c for c in axes.containers if isinstance(c, ErrorbarContainer)):
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_the_trade_off_is_linear_from_zero_where_points_are_close() -> None:
    (axes,) = draw(compared({"a": steady_runs(4)})).axes
    assert (axes.get_xscale(), axes.get_xlim()[0]) == ("linear", 0)
    assert axes.get_ylim()[1] > 0.53
    still = [{**run, "item_latency_p99": 0.0} for run in steady_runs(4)]
    (axes,) = draw(compared({"a": still})).axes
    assert (axes.get_xscale(), axes.get_xlim()) == ("linear", (0, 1))


def test_there_is_a_trade_off_only_where_items_are_due_over_time() -> None:
    assert not plane.has_data(compared({"a": steady_runs(2)}, waits=False))
    assert not plane.has_data(compared({"a": [times(1, 1, 1)], "b": []}))


@pytest.mark.parametrize("count", [3, 13])
def test_names_stand_beside_their_marks_and_on_nothing(count: int) -> None:
    labels = [f"engine@1.{n}" for n in range(count)]
    figure = draw(
        compared({label: steady_runs(3, factor=1.02**n) for n, label in enumerate(labels)})
    )
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert sorted(notes(axes)) == sorted(labels)
    # Without the line to the mark.
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    dots = axes.transData.transform(points(axes))
    overlaps = sum(
        box.overlaps(other) for number, box in enumerate(boxes) for other in boxes[:number]
    )
    assert overlaps == 0
    if count == 3:
        assert not any(box.contains(x, y) for box in boxes for x, y in dots)


def test_what_differs_from_another_in_its_packages_is_named_by_these() -> None:
    labels = ["v1", "v1+a==1.0", "x@1", "x@1+b==2.0", "v10"]
    figure = draw(compared({label: steady_runs(3, factor=1 + n) for n, label in enumerate(labels)}))
    assert notes(figure.axes[0]) == ["v1", "+a==1.0", "x@1", "+b==2.0", "v10"]
