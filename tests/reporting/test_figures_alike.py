"""The same figure reads alike wherever it stands: console, Markdown, JSON, page, charts."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from tests.records import make_record, times
from tests.reporting.charts.figures import notes
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison, Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.reporting import comparison as reporting
from waitbench.reporting import markdown, page
from waitbench.reporting.answer import MARKS, answer
from waitbench.reporting.charts import times as times_chart
from waitbench.reporting.console import print_answer, print_cells
from waitbench.reporting.document import Page
from waitbench.reporting.drawing import looks
from waitbench.reporting.formats import (
    format_change,
    format_interval,
    format_range,
    format_said,
    format_value,
)
from waitbench.reporting.html import shown
from waitbench.reporting.page import ReadFolder
from waitbench.reporting.page_parts import Scene

COSTS = ("steady", "cpu", "system", "real", "latency")
BASE = st.floats(1e-4, 1e3)
FACTOR = st.floats(0.01, 100)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Comparisons of one to three candidates in one to three scenarios."""
    labels = ["old", *(f"v{number}" for number in range(draw(st.integers(1, 3))))]
    return [
        make_record({label: draw(runs()) for label in labels}, scenario=f"waiting-{number}")
        for number in range(draw(st.integers(1, 3)))
    ]


@st.composite
def runs(draw: st.DrawFn) -> list[dict[str, float]]:
    """As many runs as every other has: what is left out has no figure."""
    base, factor = draw(BASE), draw(FACTOR)
    noise = draw(st.lists(st.floats(0.8, 1.25), min_size=3, max_size=3))
    return [
        {
            **times(base * by, base * factor, base * by / 3),
            "time_cpu_steady": base * by * factor,
            "time_cpu_startup": base * by / 7,
            "time_cpu_shutdown": base * by / 70,
            "item_latency_p99": base * by / 100,
        }
        for by in noise
    ]


def composed_of(made: Sequence[Record]) -> Page:
    scenes = [Scene.of(record, scenarios=len(made)) for record in made]
    folder = ReadFolder(folder=Path("there"), context=made[0].context, scenes=scenes)
    return page.compose([folder])


def of_page(made: Sequence[Record]) -> Iterator[str]:
    """Every text that a page shows in its tables, and what stands below it."""
    composed = composed_of(made)
    tables = [*composed.matrices]
    for section in composed.sections:
        for part in section.parts:
            tables += part.tables
            yield from part.sentences
    for table in tables:
        for row in table.rows:
            for cell in row:
                yield shown(cell).text
                yield shown(cell).more


def on_console(compared: Sequence[Comparison]) -> str:
    """What ``report`` prints of all costs, and the answer."""
    lines = []
    for one in compared:
        table = reporting.table(one, COSTS)
        lines += lines_of(lambda console, table=table: print_cells(table, console), 1000)  # type: ignore[misc]
    return "\n".join([*lines, *answer_on_console(compared)])


def answer_on_console(compared: Sequence[Comparison]) -> list[str]:
    found = answer(compared)
    return lines_of(lambda console: print_answer(found, console), 1000)


@settings(max_examples=60, deadline=None)
@given(records())
def test_a_figure_reads_alike_on_the_console_in_markdown_json_and_on_a_page(
    made: list[Record],
) -> None:
    compared = statistics.compare_all(made)
    console, rendered = on_console(compared), markdown.render_answer(answer(compared))
    cells = set(of_page(made))
    said = "\n".join(answer_on_console(compared)).replace("  ", " ")
    for scenario in json.loads(json.dumps(reporting.plain(compared))):
        for row in scenario["revisions"]:
            for name in COSTS:
                value = format_value(row["metrics"][name]["value"], BY_NAME[name])
                assert value in console
                assert any(value in cell for cell in cells)
            for name, ratio in row["ratios"].items():
                if name in COSTS:
                    interval = format_interval(estimate(ratio))
                    assert interval in console
                    assert any(interval in cell for cell in cells)
            if row["ratios"]:
                steady = row["metrics"]["steady"]["value"]
                judged = estimate(row["ratios"]["steady"])
                for text in (format_range(judged), format_said(steady, BY_NAME["steady"])):
                    assert text in rendered
                    assert text in said.replace("  ", " ") or text in console
    assert headlines(compared) <= set(changes_of(rendered))


def headlines(compared: Sequence[Comparison]) -> set[str]:
    return {one.text for one in answer(compared).headlines}


def changes_of(rendered: str) -> Iterator[str]:
    """The headlines of Markdown, without what makes them stand out."""
    for line in rendered.splitlines():
        if line.startswith("* **"):
            yield line.removeprefix("* **").partition("**")[0].partition(" ")[2]


@settings(max_examples=12, deadline=None)
@given(records())
def test_beside_the_bars_of_a_chart_stand_the_figures_of_the_data_and_of_the_page(
    made: list[Record],
) -> None:
    compared = statistics.compare_all(made)
    look_of = looks([row.label for row in compared[0].rows])
    matrices = {table.title.partition(",")[0]: table for table in composed_of(made).matrices}
    judged_at = json.loads(json.dumps(reporting.plain(compared)))
    for number, (one, data) in enumerate(zip(compared, judged_at, strict=True)):
        panels = {
            axes.get_title(loc="left"): notes(axes) for axes in times_chart.draw(one, look_of).axes
        }
        for name in ("steady", "cpu", "system", "real"):
            metric = BY_NAME[name]
            written = panels[metric.heading]
            assert written == list(beside_bars(data, name))
            cells = [shown(row[1 + number]) for row in matrices[metric.heading].rows]
            assert [f"{cell.text} [{cell.more}]" for cell in cells] == [
                text for text in written if text.endswith("]")
            ]
    overview = times_chart.draw_overview(compared, look_of)
    for axes, data in zip(overview.axes, judged_at, strict=True):
        assert notes(axes) == list(beside_bars(data, "steady"))


def beside_bars(data: Mapping[str, Any], name: str) -> Iterator[str]:
    """What a panel says of the metrics of a scenario: each mean, and how it compares."""
    for row in data["revisions"]:
        yield format_value(row["metrics"][name]["value"], BY_NAME[name])
        if name in row["ratios"]:
            plain = row["ratios"][name]
            ratio = estimate(plain)
            mark = next(mark for one, mark in MARKS.items() if one.value == plain["verdict"])
            yield f"{mark} {format_change(ratio)} [{format_range(ratio)}]"


EXACTLY = 5e-4
"""The share by which a figure of four digits may be off."""


@settings(max_examples=40, deadline=None)
@given(records())
def test_what_the_charts_of_a_page_are_drawn_of_are_the_figures_of_the_data(
    made: list[Record],
) -> None:
    scenarios = json.loads(json.dumps(reporting.plain(statistics.compare_all(made))))
    sections = composed_of(made).sections
    for section, data in zip(sections, scenarios, strict=True):
        charts = {chart.title: chart for part in section.parts for chart in part.charts}
        runs_of, parts_of = charts["Every run, with medians"], charts["Where the CPU went"]
        offered = {choice.fills["$metric"]: choice.title for choice in runs_of.choices}
        assert set(COSTS) <= offered.keys()
        for row in data["revisions"]:
            dots = [dot for dot in runs_of.rows if dot["revision"] == row["label"]]
            for name in COSTS:
                metric = row["metrics"][name]
                # Lateness stands in milliseconds at its axis, all else in seconds.
                unit = offered[name].rpartition(", ")[2]
                values = [dot[name] * {"s": 1, "ms": 1e-3}[unit] for dot in dots]
                assert len(values) == metric["count"]
                assert math.fsum(values) / len(values) == approx(metric["value"], rel=EXACTLY)
            parts = {
                bar["part"]: bar["seconds"]
                for bar in parts_of.rows
                if bar["revision"] == row["label"]
            }
            assert parts == {
                part: approx(row["metrics"][name]["value"], rel=EXACTLY)
                for name, part in reporting.SPLIT.items()
                if name in row["metrics"]
            }


def estimate(plain: Mapping[str, Any]) -> Estimate:
    return Estimate(**{name: plain[name] for name in ("value", "low", "high", "count", "is_bound")})
