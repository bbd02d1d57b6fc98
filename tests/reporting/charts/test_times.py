"""What runs cost, read from the figures."""

from collections.abc import Sequence

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.families.drawn import xs
from tests.records import times
from tests.reporting.charts.figures import bars, compared, notes, points, steady_runs
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.charts import times as times_chart
from waitbench.reporting.drawing import looks
from waitbench.reporting.formats import format_change, format_range, format_value


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


def test_what_is_judged_is_the_first_panel_and_the_first_word_of_the_overview() -> None:
    runs = [{**run, "time_cpu_steady": 0.1} for run in steady_runs(3)]
    comparison = compared({"a": runs, "b": runs})
    assert [axes.get_title(loc="left") for axes in draw(comparison).axes] == [
        "The workers' steady CPU", "CPU time", "User time", "System time", "Real time",
    ]  # fmt: skip
    figure = draw_overview([comparison, comparison])
    assert figure.get_suptitle() == "The workers' steady CPU, by scenario"
    assert [x for x, _ in points(figure.axes[0])] == [0.1] * 6


def test_what_nothing_reports_is_not_drawn_and_total_cpu_is_judged_then() -> None:
    comparison = compared({"a": steady_runs(3), "b": steady_runs(3)})
    assert draw(comparison).axes[0].get_title(loc="left") == "CPU time"
    assert draw_overview([comparison]).get_suptitle() == "CPU time, by scenario"


def test_every_run_is_a_dot_at_its_value_and_none_hides_another() -> None:
    runs = {"a": steady_runs(5), "b": steady_runs(5, factor=2)}
    axes = panel(draw(compared(runs)), "User time")
    expected = [run["time_user"] for found in runs.values() for run in found]
    assert [x for x, _ in points(axes)] == expected
    assert len({y for _, y in points(axes)}) == len(expected)


def test_dots_stand_in_order_of_rounds_within_their_row() -> None:
    axes = draw(compared({"a": steady_runs(4), "b": steady_runs(4)})).axes[0]
    places = [y for _, y in points(axes)]
    assert places == sorted(places)
    assert max(places[:4]) < 0.5 < min(places[4:])


def test_beside_each_bar_stand_its_mean_its_ratio_and_the_interval() -> None:
    comparison = compared({"a": steady_runs(5), "b": steady_runs(5, factor=3)})
    axes = panel(draw(comparison), "User time")
    baseline, candidate = comparison.rows
    ratio = candidate.ratios["user"]
    means = [
        format_value(row.estimates["user"].value, BY_NAME["user"]) for row in (baseline, candidate)
    ]
    assert notes(axes) == [
        means[0], means[1], f"▲ {format_change(ratio)} [{format_range(ratio)}]",
    ]  # fmt: skip
    assert [bar.get_x() + bar.get_width() for bar in bars(axes)] == pytest.approx(
        [row.estimates["user"].value for row in (baseline, candidate)]
    )


def test_arms_are_the_interval_of_the_mean_and_that_is_said() -> None:
    comparison = compared({"a": steady_runs(9)})
    figure = draw(comparison)
    found = comparison.baseline.estimates["cpu"]
    arm = figure.axes[0].lines[0]
    assert xs(arm) == pytest.approx([found.low, found.high])
    assert "arms and brackets: 95 % interval" in figure.get_supxlabel()
    assert "interval" not in draw(compared({"a": steady_runs(1)})).get_supxlabel()


@pytest.mark.parametrize(("factor", "scale"), [(9.0, "linear"), (11.0, "log"), (0.01, "log")])
def test_bars_that_differ_by_more_than_ten_have_a_logarithmic_scale(
    factor: float, scale: str
) -> None:
    comparison = compared({"a": steady_runs(3), "b": steady_runs(3, factor=factor)})
    axes = panel(draw(comparison), "User time")
    assert axes.get_xscale() == scale
    assert ("log scale" in axes.get_title(loc="right")) == (scale == "log")
    left, right = axes.get_xlim()
    assert left <= min(x for x, _ in points(axes))
    assert max(x for x, _ in points(axes)) <= right


def test_nothing_leaves_the_frame_with_an_outlier() -> None:
    runs = [times(real, 1, 0.1) for real in (1.0, 1.1, 0.9, 50.0, 1.05)]
    axes = panel(draw(compared({"a": runs, "b": steady_runs(7)})), "Real time")
    left, right = axes.get_xlim()
    for line in axes.lines:
        assert left <= min(xs(line))
        assert max(xs(line)) <= right
    assert max(x for x, _ in points(axes)) <= right


def _is_within(axes: Axes, label: Text) -> bool:
    """Whether a figure at a scale is shown: those beyond its ends are not."""
    low, high = sorted(axes.get_xlim())
    return label in axes.get_yticklabels() or low <= label.get_position()[0] <= high


@pytest.mark.parametrize("count", [2, 13])
def test_no_text_lies_on_another_or_outside_of_the_figure(count: int) -> None:
    runs = {
        f"a-revision-with-a-long-label@1.2.{n}": steady_runs(3, factor=1 + n) for n in range(count)
    }
    figure = draw(compared(runs))
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [
            text.get_window_extent()
            for text in (*axes.texts, *axes.get_yticklabels(), *axes.get_xticklabels())
            if text.get_text() and (text in axes.texts or _is_within(axes, text))
        ]
        for number, box in enumerate(boxes):
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.width
            assert not any(box.overlaps(other) for other in boxes[:number])


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


def test_a_time_of_zero_is_drawn_within_the_frame() -> None:
    figure = draw(compared({"a": [times(0, 0, 0)]}))
    assert figure.axes[0].get_xlim() == (0, 1)
    assert "1 round " in figure.get_supxlabel()


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_overview_has_a_panel_for_each_scenario(count: int) -> None:
    comparisons = [
        compared({"a": steady_runs(n + 3), "b": steady_runs(n + 3)}, scenario=f"s{n}")
        for n in range(count)
    ]
    figure = draw_overview(comparisons)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"s{n}" for n in range(count)]
    assert [len(points(axes)) for axes in figure.axes] == [2 * (n + 3) for n in range(count)]
    assert not figure.legends
    rounds = "3 rounds" if count == 1 else f"3–{count + 2} rounds"
    assert f"single · {rounds} ·" in figure.get_supxlabel()


def test_where_only_some_scenarios_are_judged_by_steady_cpu_each_panel_says_by_what() -> None:
    steady = [{**run, "time_cpu_steady": 0.1} for run in steady_runs(3)]
    one = compared({"a": steady, "b": steady}, scenario="one")
    two = compared({"a": steady_runs(3), "b": steady_runs(3)}, scenario="two")
    figure = draw_overview([one, two])
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "one, the workers' steady CPU", "two, CPU time",
    ]  # fmt: skip


def test_mixed_origins_are_marked() -> None:
    comparison = compared({"a": steady_runs(2)}, mixed_origins=True)
    assert "MIXED ORIGINS" in draw(comparison).get_supxlabel()
    assert "MIXED ORIGINS" in draw_overview([comparison]).get_supxlabel()
