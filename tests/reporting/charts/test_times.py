"""Real, user and system time, read from the figures."""

import pytest

from tests.records import times
from tests.reporting.charts.figures import bands, compared, legend_of, notes, points, steady_runs
from waitbench.analysis.medians import median
from waitbench.reporting.charts import times as times_chart


def test_every_run_is_a_dot_at_its_value() -> None:
    runs = {"a": steady_runs(5), "b": steady_runs(5, factor=2)}
    (axes,) = times_chart.draw(compared(runs)).axes
    expected = [
        run[key]
        for found in runs.values()
        for key in ("time_wall_clock", "time_user", "time_system")
        for run in found
    ]
    assert [y for _, y in points(axes)] == expected
    assert len({x for x, _ in points(axes)}) == len(expected), "none hides another"


def test_dots_stand_in_order_of_rounds_within_their_column() -> None:
    (axes,) = times_chart.draw(compared({"a": steady_runs(4), "b": steady_runs(4)})).axes
    places = [x for x, _ in points(axes)]
    first, second = places[:4], places[12:16]
    assert first == sorted(first)
    assert max(first) < 0 < min(second), "the columns stand left and right of the tick"


def test_bands_are_the_intervals_of_the_medians_and_values_are_written() -> None:
    runs = steady_runs(9)
    (axes,) = times_chart.draw(compared({"a": runs})).axes
    intervals = [median([run[key] for run in runs]) for key in ("time_wall_clock", "time_user")]
    assert bands(axes)[:2] == [pytest.approx((found.low, found.high)) for found in intervals]
    assert notes(axes) == ["5.40", "2.40", "0.54"]
    assert "band: 95 % interval" in axes.get_title()


def test_with_too_few_runs_the_band_is_the_range_and_that_is_said() -> None:
    (axes,) = times_chart.draw(compared({"a": steady_runs(5)})).axes
    assert bands(axes)[0] == pytest.approx((5.0, 5.4))
    assert axes.get_title() == (
        "single · 5 rounds\n"
        "dot: run · line: median · band: range (too few runs for a 95 % interval)"
    )


@pytest.mark.parametrize("outlier", [1.2, 50.0])
def test_nothing_leaves_the_frame_and_an_outlier_does_not_move_the_median(outlier: float) -> None:
    runs = [times(real, 1, 0.1) for real in (1.0, 1.1, 0.9, outlier, 1.05)]
    (axes,) = times_chart.draw(compared({"a": runs, "b": steady_runs(7)})).axes
    bottom, top = axes.get_ylim()
    ends = [end for band in bands(axes) for end in band]
    assert bottom <= min(ends)
    assert max(*ends, *(y for _, y in points(axes))) < top
    assert notes(axes)[0] == "1.05"


def test_a_value_stands_at_its_median_and_not_at_an_outlier_far_above() -> None:
    runs = [times(real, 0.1, 0.1) for real in (1.0, 1.1, 0.9, 50.0, 1.05)]
    (axes,) = times_chart.draw(compared({"a": runs})).axes
    assert axes.texts[0].xy[1] < 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(("count", "written"), [(1, 3), (6, 18), (7, 0)])
def test_values_are_written_where_there_is_room(count: int, written: int) -> None:
    (axes,) = times_chart.draw(compared({f"r{n}": steady_runs(2) for n in range(count)})).axes
    assert len(notes(axes)) == written


def test_a_revision_without_a_run_says_so_and_keeps_its_place_and_its_name() -> None:
    (axes,) = (figure := times_chart.draw(compared({"a": [], "b": steady_runs(2)}))).axes
    assert notes(axes).count("no run") == 3
    assert legend_of(figure) == ["a", "b"]
    (whole,) = times_chart.draw(compared({"a": steady_runs(2), "b": steady_runs(2)})).axes
    colours = [panel.patches[-1].get_facecolor() for panel in (axes, whole)]
    assert colours[0] == colours[1]
    assert points(axes) == points(whole)[6:]


def test_without_any_run_there_is_still_a_chart() -> None:
    (axes,) = times_chart.draw(compared({"a": [], "b": []})).axes
    assert axes.get_title() == "single · 0 rounds\nno run gave a measurement"
    assert notes(axes) == ["no run"] * 6


def test_a_time_of_zero_is_drawn_within_the_frame() -> None:
    (axes,) = times_chart.draw(compared({"a": [times(0, 0, 0)]})).axes
    assert axes.get_ylim() == (0, 1)
    assert "1 round\n" in axes.get_title()


@pytest.mark.parametrize("count", [1, 2, 8, 9])
def test_the_overview_has_a_panel_for_each_scenario(count: int) -> None:
    comparisons = [
        compared({"a": steady_runs(n + 3), "b": steady_runs(n + 3)}, scenario=f"s{n}")
        for n in range(count)
    ]
    figure = times_chart.draw_overview(comparisons)
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == [f"s{n}" for n in range(count)]
    assert [len(points(axes)) for axes in shown] == [6 * (n + 3) for n in range(count)]
    assert legend_of(figure) == ["a", "b"]
    rounds = "3 rounds" if count == 1 else f"3–{count + 2} rounds"
    assert f"single · {rounds}\n" in figure.get_suptitle()


def test_mixed_origins_are_marked() -> None:
    comparison = compared({"a": steady_runs(2)}, mixed_origins=True)
    assert "MIXED ORIGINS" in times_chart.draw(comparison).axes[0].get_title()
    assert "MIXED ORIGINS" in times_chart.draw_overview([comparison]).get_suptitle()
