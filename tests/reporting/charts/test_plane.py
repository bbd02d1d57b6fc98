"""CPU against latency, read from the figures."""

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from tests.records import times
from tests.reporting.charts.figures import compared, steady_runs, xs, ys
from waitbench.analysis import results
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import planes


def drawn(comparison: Comparison) -> Figure | None:
    labels = [row.label for row in comparison.rows]
    return planes.tradeoff("idle", results.of_comparisons([comparison]), labels)


def test_the_trade_off_has_means_with_intervals_within_the_frame() -> None:
    comparison = compared({"a": steady_runs(9), "b": [], "c": steady_runs(8, factor=0.01)})
    figure = drawn(comparison)
    assert figure is not None
    (axes,) = figure.axes
    bars_of = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    means = [(xs(dot)[0], ys(dot)[0]) for dot in (one.lines[0] for one in bars_of) if dot]
    assert means == [
        pytest.approx((4.5, 0.535)), pytest.approx((4.5, 0.00535)),
    ], "milliseconds, and cores"  # fmt: skip
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "c"]
    assert axes.get_yscale() == "log", "far apart"
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for bars in bars_of:
        for lines in bars.lines[2]:
            for segment in lines.get_segments():
                for x, y in segment:
                    assert left <= x <= right
                    assert bottom <= y <= top


def test_there_is_a_trade_off_only_where_items_are_due_over_time() -> None:
    assert drawn(compared({"a": steady_runs(2)}, waits=False)) is None
    assert drawn(compared({"a": [times(1, 1, 1)], "b": []})) is None
    assert drawn(compared({"a": steady_runs(2)})) is not None
