"""Engines side by side: which figures, of which rounds, in tables and on the chart."""

from pathlib import Path
from typing import Any

import pytest

from tests.families import drawn
from tests.records import contestant, context, facts, make_record
from waitbench.analysis.side_by_side import estimate, is_shown
from waitbench.families.input import MODULE
from waitbench.families.input.side_by_side import SIDE_BY_SIDE
from waitbench.model.record import Context, Record
from waitbench.store.comparisons import Contents

WAITING = {
    "cpu_share_steady": 0.05, "time_cpu_steady": 0.25, "items_out": 100, "item_latency_p50": 0.001,
    "item_latency_p99": 0.002, "time_cpu_startup": 0.2, "time_startup": 0.3,
    "memory_peak_resident": 2**20 * 30,
}  # fmt: skip


def revisions() -> tuple[Any, ...]:
    """Two settings of one engine, and another engine."""
    same = facts(package_sha256="x")
    return (
        contestant("a", engine="one", remark="asks", facts=same),
        contestant("a+ms:5", engine="one", settings={"ms": "5"}, remark="asks", facts=same),
        contestant("b", engine="two", remark="blocks", facts=same),
    )


def record_of(scenario: str, runs: Any, **changes: Any) -> Record:
    """A record of a scenario of the family that its name begins with."""
    record = make_record(runs, scenario=scenario, **changes)
    record.family = scenario.partition("-")[0]
    return record


def comparison(*scenarios: str) -> Contents:
    records: list[Record] = []
    for scenario in scenarios:
        runs = {
            one.label: [{**WAITING, "cpu_share_steady": 0.05 * place} for _ in range(3)]
            for place, one in enumerate(revisions(), 1)
        }
        records.append(record_of(scenario, runs, revisions=revisions()))
    found: Context = records[0].context
    return Contents(folder=Path(), context=found, records=tuple(records))


def test_engines_or_settings_are_side_by_side_and_revisions_of_one_are_not() -> None:
    assert is_shown(comparison("partitioned-idle").context)
    assert not is_shown(context(["a", "b"]))
    assert not is_shown(None)
    assert MODULE.tables(Contents(folder=Path(), context=context(["a", "b"]))) == []


def test_the_tables_have_what_was_measured_and_what_engines_do_otherwise() -> None:
    contents = comparison("partitioned-idle", "partitioned-long-input")
    costs, item, start = MODULE.tables(contents)
    assert costs.title == "engines · what waiting costs, % of a core · means"
    assert costs.header == ("revision", "idle", "items due")
    assert costs.rows == (
        ("a", "5 ±0 %", "5 ±0 %"), ("a+ms:5", "10 ±0 %", "10 ±0 %"), ("b", "15 ±0 %", "15 ±0 %")
    )  # fmt: skip
    assert item.header == ("revision", "CPU, waiting", "late, median", "late, p99")
    assert item.rows[0][1:] == ("2.5 ±0 %", "1 ±0 %", "2 ±0 %")
    assert start.rows[0][1:] == ("0.2 ±0 %", "0.3 ±0 %", "30 ±0 %")
    assert [costs.notes, item.notes] == [(), ()]
    assert start.notes == ("one: asks.", "two: blocks.")


def test_a_figure_is_of_the_rounds_that_all_have_and_absent_without_what_it_takes() -> None:
    runs = {"a": [WAITING, WAITING], "b": [{**WAITING, "item_latency_p99": 1.0}]}
    record = record_of("partitioned-long-input", runs)
    late = estimate(SIDE_BY_SIDE.late, [record], "a")
    assert late is not None
    assert (late.value, late.count) == (2.0, 1)
    without = record_of("partitioned-long-input", {"a": [{}]})
    assert estimate(SIDE_BY_SIDE.late, [without], "a") is None
    assert estimate(SIDE_BY_SIDE.late, [], "a") is None


def test_a_figure_is_of_one_scenario_for_all_revisions() -> None:
    (waits,) = (
        one for one in SIDE_BY_SIDE.groups["what waiting costs, % of a core"] if one.title == "idle"
    )
    (works,) = (one for one in SIDE_BY_SIDE.groups["an item, ms"] if one.title == "CPU, busy")
    # b could not run the first one: the second is not the same work.
    first = record_of("partitioned-idle", {"a": [WAITING], "b": []})
    second = record_of("dynamic-idle", {"a": [WAITING], "b": [WAITING]})
    assert estimate(waits, [first, second], "a") is not None
    assert estimate(waits, [first, second], "b") is None
    assert estimate(waits, [record_of("dynamic-idle", {"b": []}), first], "a") is not None
    # Half of this one's time is waiting.
    run = {**WAITING, "time_cpu_shutdown": 0.1}
    both = record_of("partitioned-long-input-heavy-map", {"a": [run], "b": [run]})
    assert estimate(works, [both], "a") is None
    busy = record_of("partitioned-heavy-map", {"a": [run], "b": [run]})
    assert estimate(works, [both, busy], "a") is not None


def test_the_chart_does_not_join_what_differs_by_a_package() -> None:
    same = facts(package_sha256="x")
    others = (
        contestant("a", facts=same),
        contestant("a+b==1", beside=("b==1",), facts=same),
        contestant("a+ms:5", settings={"ms": "5"}, facts=same),
    )
    runs = {one.label: [WAITING] * 3 for one in others}
    record = record_of("partitioned-long-input", runs, revisions=others)
    contents = Contents(folder=Path(), context=record.context, records=(record,))
    (figure,) = MODULE.figures(contents).values()
    (axes,) = figure.axes
    assert [len(drawn.ys(line)) for line in axes.lines].count(2) == 1
    assert max(len(drawn.ys(line)) for line in axes.lines) == 2


def test_the_chart_joins_the_settings_of_one_engine() -> None:
    (figure,) = MODULE.figures(comparison("partitioned-long-input")).values()
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} == {"a", "+ms:5", "b"}
    joined = [drawn.ys(line) for line in axes.lines if len(drawn.ys(line)) > 1]
    assert joined == [pytest.approx([5, 10])]
    assert MODULE.figures(comparison("partitioned-idle")) == {}
