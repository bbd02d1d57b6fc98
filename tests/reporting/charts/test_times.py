"""What runs cost, read from the figures."""

from collections.abc import Sequence

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.reporting.charts.figures import bars, compared, notes, points, steady_runs, xs
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import times as times_chart
from waitbench.reporting.drawing import looks


def draw(comparison: Comparison) -> Figure:
    return times_chart.draw(comparison, looks([row.label for row in comparison.rows]))


def draw_overview(comparisons: Sequence[Comparison]) -> Figure:
    labels = [row.label for row in comparisons[0].rows]
    return times_chart.draw_overview(comparisons, looks(labels))


def panel(figure: Figure, title: str) -> Axes:
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    return found


def rows_of(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_every_run_is_a_dot_at_its_value_and_none_hides_another() -> None:
    runs = {"a": steady_runs(5), "b": steady_runs(5, factor=2)}
    axes = panel(draw(compared(runs)), "User time")
    expected = [run["time_user"] for found in runs.values() for run in found]
    assert [x for x, _ in points(axes)] == expected
    assert len({y for _, y in points(axes)}) == len(expected)


def test_arms_are_the_interval_of_the_mean_and_that_is_said() -> None:
    comparison = compared({"a": steady_runs(9)})
    figure = draw(comparison)
    found = comparison.baseline.estimates["cpu"]
    arm = figure.axes[0].lines[0]
    assert xs(arm) == pytest.approx([found.low, found.high])
    assert "arms and brackets: 95 % interval" in figure.get_supxlabel()
    assert "interval" not in draw(compared({"a": steady_runs(1)})).get_supxlabel()


def test_a_revision_without_a_run_says_so_and_keeps_its_place_and_its_colour() -> None:
    lacking = draw(compared({"a": [], "b": steady_runs(2)})).axes[0]
    whole = draw(compared({"a": steady_runs(2), "b": steady_runs(2)})).axes[0]
    assert notes(lacking)[0] == "no run"
    assert rows_of(lacking) == ["a", "b"]
    assert bars(lacking)[-1].get_facecolor() == bars(whole)[-1].get_facecolor()
    assert points(lacking) == points(whole)[2:]


def test_without_any_run_there_is_still_a_chart() -> None:
    figure = draw(compared({"a": [], "b": []}))
    assert "0 rounds · no run gave a measurement" in figure.get_supxlabel()
    assert notes(figure.axes[0]) == ["no run"] * 2
