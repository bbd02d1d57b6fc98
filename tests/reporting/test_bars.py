"""Bars: the four figures of every run, and the costs of waiting, for charts and for pages."""

import pytest
from matplotlib.patches import Rectangle
from msgspec.structs import replace

from tests.records import make_record, times
from tests.reporting.test_idle import served
from waitbench.analysis import statistics
from waitbench.model.record import ScenarioResults
from waitbench.reporting import bars
from waitbench.reporting.charts import draw_bars
from waitbench.reporting.document import Bar, Bars

HEADINGS = ["real, s", "user, s", "system, s", "total CPU, s"]


def charts_of(*records: ScenarioResults) -> dict[str, Bars]:
    return bars.compose([*map(statistics.compare, records)], "5 rounds")


def bars_of(*records: ScenarioResults) -> Bars:
    return charts_of(*records)["costs"]


def headings(shown: Bars) -> list[str]:
    return [column.heading for column in shown.columns]


def texts(shown: Bars, row: int = 0) -> list[list[str]]:
    return [[bar.text for bar in column.cells[row]] for column in shown.columns]


def test_each_revision_has_its_real_user_system_and_total_cpu_time() -> None:
    shown = bars_of(make_record({"old": [times(5, 4, 2)] * 2, "new": [times(4, 0.2, 0.0123)]}))
    assert headings(shown) == HEADINGS
    assert texts(shown) == [
        ["5.00", "4.00"], ["4.00", ".200"], ["2.00", ".012"], ["6.00", ".212"],
    ]  # fmt: skip
    assert [column.scale for column in shown.columns] == [0.7 / 5, 0.7 / 4, 0.7 / 2, 0.7 / 6]
    assert list(shown.colours) == ["old", "new"]
    labels = [f"v{number}" for number in range(13)]
    colours = bars_of(make_record({label: [times(1, 1, 1)] for label in labels})).colours
    assert [*colours.values()].count(colours["v0"]) == 1, "the baseline's grey"
    assert len(set(colours.values())) == 7


def test_a_bar_is_the_mean_beside_the_ratio_and_its_line_is_of_all_runs() -> None:
    runs = [times(real, 1, 1) for real in (2, 4, 9)]
    comparison = statistics.compare(make_record({"old": runs, "new": runs[:2], "more": runs}))
    (cell,) = bars.compose([comparison])["costs"].columns[0].cells
    assert [bar[:4] for bar in cell] == [("old", 5, 2, 9), ("new", 3, 2, 4), ("more", 5, 2, 9)]
    (beside,) = (it for it in comparison.figures["more"] if it.metric.name == "real")
    assert beside.before is not None
    assert beside.before.value == cell[0].mean
    (pair,) = bars_of(make_record({"old": runs, "new": runs[:2]})).columns[0].cells
    assert [bar[:4] for bar in pair] == [("old", 3, 2, 9), ("new", 3, 2, 4)]


def test_what_was_not_measured_says_so() -> None:
    measured = make_record({"old": [times(1, 1, 1)], "new": []}, scenario="dynamic")
    shown = bars_of(measured, make_record({"old": [], "new": []}, scenario="other"))
    assert texts(shown)[0] == ["1.00", "not measured"]
    assert texts(shown, 1) == [["not measured"] * 2] * 4
    assert shown.columns[0].cells[0][1] == Bar("new", None, 0, 0, "not measured")
    assert charts_of(make_record({"old": [], "new": []})) == {}
    assert charts_of() == {}


def test_a_worker_that_waits_has_the_costs_of_waiting_beside_the_four_figures() -> None:
    record = served()
    record.measurements = [
        replace(run, metrics={**run.metrics, "memory_proportional": 3 * 2**20})
        for run in record.measurements
    ]
    of_runs, of_waiting = charts_of(
        record, make_record({label: [times(1, 1, 1)] for label in ("v1", "v2")})
    ).values()
    assert headings(of_runs) == HEADINGS
    assert of_waiting.scenarios == [record.scenario], "nothing waits in the other"
    assert headings(of_waiting) == ["idle CPU, ms", "wake-ups", "memory, MiB"]
    assert texts(of_waiting) == [["56.1", "3.60"], ["4,000", "4,000"], ["3.00", "3.00"]]


def test_bars_of_a_column_have_one_scale_and_end_before_their_values() -> None:
    runs = {"old": [times(5, 4, 2), times(7, 4, 2)], "new": [times(3, 0.2, 0.1)] * 2}
    name = "partitioned-heavy-map-with-an-extremely-long-name"
    short = make_record({label: [times(1, 1, 1)] for label in runs}, scenario=name)
    shown = bars_of(make_record(runs), short)
    figure = draw_bars(shown)
    figure.draw_without_rendering()
    widths = [
        bar.get_width()
        for axes in figure.axes
        for bar in axes.patches
        if isinstance(bar, Rectangle)
    ]
    values = [6, 1, 3, 1, 4, 1, 0.2, 1, 2, 1, 0.1, 1, 6, 2, 0.3, 2]
    assert widths == pytest.approx(values)
    for axes in figure.axes:
        assert axes.get_xlim()[0] == 0
        for text in axes.texts:
            extent = text.get_window_extent()
            assert 0 <= extent.x0 < extent.x1 <= figure.bbox.x1, text.get_text()
