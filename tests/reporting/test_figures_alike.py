"""The same figure reads alike wherever it stands: console, Markdown, JSON, page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records import make_record, times
from tests.reporting.made_up import page_of
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison, Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.reporting import comparison as reporting
from waitbench.reporting import markdown
from waitbench.reporting.answer import answer
from waitbench.reporting.console import print_answer, print_cells
from waitbench.reporting.document import text_of
from waitbench.reporting.formats import format_change, format_range, format_value

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


def of_page(made: Sequence[Record]) -> set[str]:
    """The text of every cell of a page's tables."""
    page = page_of(*made)
    tables = [*page.tables, *(table for section in page.sections for table in section.tables)]
    return {text_of(cell) for table in tables for row in table.rows for cell in row}


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
    cells = of_page(made)
    for scenario in json.loads(json.dumps(reporting.plain(compared))):
        for row in scenario["revisions"]:
            for name in COSTS:
                assert format_value(row["metrics"][name]["value"], BY_NAME[name]) in console
            for name, ratio in row["ratios"].items():
                if name in COSTS:
                    found = estimate(ratio)
                    said = {format_change(found), format_range(found)}
                    assert all(text in console for text in said)
                    assert said <= cells or "not compared" in cells
            if row["ratios"]:
                judged = format_range(estimate(row["ratios"]["steady"]))
                assert judged in rendered or "not compared" in rendered
    # What the answer says, and only that, is on the page and in Markdown.
    shown = answer(compared).table
    assert shown is not None
    # Beside several candidates the page has no figures of the baseline.
    first = 2 if compared[0].rows[2:] else 1
    for cells_of in shown.rows:
        figures = {text_of(cell) for cell in cells_of[first:]} - {"–"}
        assert figures <= cells
        assert all(text in rendered for text in figures)
    assert headlines(compared) <= set(changes_of(rendered))


def headlines(compared: Sequence[Comparison]) -> set[str]:
    return {one.text for one in answer(compared).headlines}


def changes_of(rendered: str) -> Iterator[str]:
    """The headlines of Markdown, without what makes them stand out."""
    for line in rendered.splitlines():
        if line.startswith("* **"):
            yield line.removeprefix("* **").partition("**")[0].partition(" ")[2]


def estimate(plain: Mapping[str, Any]) -> Estimate:
    return Estimate(**{name: plain[name] for name in ("value", "low", "high", "count", "is_bound")})
