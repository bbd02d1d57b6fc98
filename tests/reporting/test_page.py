"""What a page shows of a comparison; it is one file, and names in it are text."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.criteria import parse
from tests.gate_runs import counted, record_of, rounds, scaled
from tests.records import make_record, outcome, specify, times
from tests.reporting.made_up import contents_of, page_of, stored
from tests.reporting.test_idle import PRICE, served
from waitbench.analysis import statistics
from waitbench.model.metrics import METRICS
from waitbench.model.record import Shard
from waitbench.pipeline.concluding import findings_of
from waitbench.pipeline.gating import Gate
from waitbench.reporting import html
from waitbench.reporting.document import Report, TextCell
from waitbench.reporting.drawing import COLOURS


def gate(*criteria: str) -> dict[str, Any]:
    """The settings of a comparison with a gate."""
    return {"gate": Gate(criteria=parse(criteria, METRICS), most_rounds=10)}


def failed() -> Report:
    """A candidate without a measurement."""
    record = make_record({"a": [times(1, 1, 1)] * 2, "b": []}, scenario="idle")
    for number in (1, 2):
        log = f"Traceback of {number}\nValueError: <boom>"
        record.add(outcome("b", number, "failed", message="exit code 1: <boom>", log=log))
    record.add(outcome("a", 1, "disturbed", message="others used 1 s", log="no failure"))
    return page_of(record)


BASE = rounds(1, 0.5)
FEW = rounds(1, 0.5, 2)
PASS = gate("system:50%", "cpu:20%", "user:90%")
PAGES: dict[str, Callable[[], Report]] = {
    "too-few-rounds": lambda: page_of(record_of(FEW, scaled(FEW, system=3)), **gate("system:10%")),
    "risen-within": lambda: page_of(record_of(BASE, scaled(BASE, 1.01, 1.01)), **PASS),
    "plain": lambda: page_of(counted("one", idle=0.5, latency=3.0), counted("two", idle=1.0)),
    "alone": lambda: page_of(make_record({"a": [times(1, 1, 1)] * 3})),
    "failed": failed,
    "waiting-for-money": lambda: page_of(served(), price=PRICE),
}
"""tests/frozen/expected/pages has what each shows."""


def test_a_revision_has_one_colour_in_all_tables() -> None:
    runs = {label: [times(1, 1 + n, 1)] * 3 for label, n in (("a", 0), ("b", 1), ("c", 2))}
    page = page_of(make_record(runs, scenario="one"), make_record(runs, scenario="two"))
    tables = [*page.tables, *(table for section in page.sections for table in section.tables)]
    cells = [cell for table in tables for row in table.rows for cell in row]
    named = [cell for cell in cells if isinstance(cell, TextCell) and cell.colour]
    expected = dict(zip("abc", COLOURS, strict=False))
    assert {cell.text for cell in named} == {"b", "c"}
    assert [cell for cell in named if cell.colour != expected[cell.text]] == []
    (of_runs,) = page.bars
    assert of_runs.colours == expected


def test_eight_scenarios_of_thirty_rounds_are_at_most_half_a_megabyte() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    contents = stored("one", ("v1", "v2"), names, rounds=30)
    assert len(html.render(page_of(*contents.records)).encode()) <= 500_000


def test_a_shard_has_the_intervals_of_the_comparison_that_it_is_of() -> None:
    runs = {"a": [times(1, 1 + n / 50, 1) for n in range(5)], "b": [times(1, 2, 1)] * 5}
    record = make_record(runs)
    elsewhere = structs.replace(record.spec, name="elsewhere")
    whole = contents_of(record)
    names = (record.scenario, elsewhere.name)
    comparison = structs.replace(
        whole.comparison,
        scenarios=(record.spec, elsewhere),
        shard=Shard(scenarios=names[:1], of=names, index=1, count=2),
    )
    part = replace(whole, comparison=comparison)
    alone, of_two = (findings_of(it).comparisons[0].figures["b"] for it in (whole, part))
    assert of_two == statistics.compare(record, scenarios=2).figures["b"]
    assert alone != of_two


HOSTILE = (
    "<script>alert(1)</script>",
    "\"onmouseover='alert(1)'",
    "</script><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}",
    "a\nb",
    "\u202etxt.exe",
    "</style><!--",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str) -> None:
    def page(name: str) -> str:
        record = make_record({"v1": [times(1, 1, 1)] * 3, name: [times(1, 2, 1)] * 3}, argv=(name,))
        specify(record, name=name)
        record.add(outcome(name, 6, "failed", message=name, log=name))
        return html.render(page_of(record))

    shown, expected = page(text), page("harmless")
    # All elements are those of the template.
    tags = [re.findall(r"<(?:script|img|style|!--)", it) for it in (shown, expected)]
    assert tags[0] == tags[1]
    assert "\u202e" not in shown
    assert "onerror=alert(1)>" not in shown
    assert "49" not in re.findall(r"<bdi>command</bdi>.*?</tr>", shown, re.DOTALL)[0]


def test_a_page_asks_for_nothing() -> None:
    shown = html.render(page_of(*stored("folder", ("v1", "v2")).records))
    assert re.findall(r"""(?:src|href)=["'](?!#)|url\(""", shown) == []
    assert "default-src 'none'" in shown
    assert shown.count("<script>") == 1
