"""What a page shows of one comparison, and of many."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from tests.gate_runs import counted, record_of, rounds, scaled
from tests.records import contestant, make_record, outcome, times
from tests.reporting.made_up import contents_of, kept, page_of, trends_of
from tests.store.keeping import finish
from waitbench.analysis import statistics
from waitbench.model.metrics import METRICS
from waitbench.model.share import Share
from waitbench.pipeline import paging
from waitbench.pipeline.concluding import conclusion_of
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.gating import Gate
from waitbench.reporting import html
from waitbench.reporting.document import Dot, Table, text_of
from waitbench.reporting.drawing import COLOURS
from waitbench.reporting.page import compose_history


def gate(*criteria: str) -> dict[str, Any]:
    """The settings of a comparison with a gate."""
    return {"gate": Gate(criteria=parse(criteria, METRICS), most_rounds=10).as_settings()}


def texts(table: Table) -> list[list[str]]:
    """The cells of each row, but for the dot."""
    return [[text_of(cell) for cell in row[:-1]] for row in table.rows]


def dots(table: Table) -> list[Dot]:
    return [cell for row in table.rows for cell in row if isinstance(cell, Dot)]


def test_a_question_without_any_bounds_says_that_rounds_were_too_few() -> None:
    base = rounds(1, 0.5)[:2]
    page = page_of(record_of(base, scaled(base, system=3.0)), **gate("system:10%"))
    (row,) = texts(page.tables[0])
    assert row[-3:] == ["inconclusive", "too few rounds", "+10 %"]


def test_the_page_of_a_pass_has_what_fell_and_what_is_nearest_to_its_limit() -> None:
    base = rounds(1, 0.5)
    risen = record_of(base, scaled(base, system=1.01, user=1.01))
    page = page_of(risen, **gate("system:50%", "cpu:20%", "user:90%"))
    assert [row[0] for row in texts(page.tables[0])] == ["✓ CPU in all"]
    assert page.sections[1].title == "2 more questions"
    fallen = record_of(base, scaled(base, system=0.5, user=1.01))
    page = page_of(fallen, **gate("system:50%", "user:90%"))
    assert [row[0] for row in texts(page.tables[0])] == ["▼ system time", "✓ user time"]


def test_without_a_gate_each_scenario_has_what_is_judged_and_how_late_items_are() -> None:
    page = page_of(counted("one", steady=0.5, latency=3.0), counted("two", steady=1.0))
    assert [row[:-1] for row in texts(page.tables[0])] == [
        ["▼ one", "steady CPU", "100 s", "50.0 s", "2.0× less"],
        ["▲ one", "lateness p99", "100 s", "300 s", "3.0× more"],
        ["= two", "steady CPU", "100 s", "100 s", "0 %"],
    ]
    assert [dot.is_open for dot in dots(page.tables[0])] == [False] * 3


def test_a_revision_has_one_colour_in_all_tables() -> None:
    runs = {label: [times(1, 1 + n, 1)] * 3 for label, n in (("a", 0), ("b", 1), ("c", 2))}
    page = page_of(make_record(runs, scenario="one"), make_record(runs, scenario="two"))
    tables = [*page.tables, *(table for one in page.sections for table in one.tables)]
    found = {dot.colour for table in tables for dot in dots(table)}
    assert found == {COLOURS[1], COLOURS[2]}
    for table in tables:
        for *cells, last in table.rows:
            if isinstance(last, Dot):
                (label,) = (text_of(cell) for cell in cells if text_of(cell) in ("b", "c"))
                assert last.colour == COLOURS["abc".index(label)]


def test_runs_that_failed_are_counted_and_their_last_words_and_log_shown() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 2, "b": []}, scenario="idle")
    for number in (1, 2):
        log = f"Traceback of {number}\nValueError: <boom>"
        record.add(outcome("b", number, "failed", message="exit code 1: <boom>", log=log))
    record.add(outcome("a", 1, "disturbed", message="others used 1 s", log="no failure"))
    page = page_of(record)
    assert page.facts[-1] == "2 runs, 2 failed"
    ((title, _),) = (log for section in page.sections for log in section.logs)
    assert title == "The end of the log of b, failed, round 2"
    shown = html.render(page)
    assert '<pre tabindex="0"><bdi>Traceback of 2\nValueError: &lt;boom&gt;</bdi></pre>' in shown
    assert "no failure" not in shown
    assert "<boom>" not in shown


def test_a_revision_alone_has_its_means_and_nothing_relative() -> None:
    page = page_of(make_record({"a": [times(1, 1, 1)] * 3}))
    assert [text_of(cell) for cell in page.tables[0].rows[0]] == ["CPU in all", "2.00 s"]
    assert dots(page.tables[0]) == []


def test_a_page_of_many_has_their_history_and_says_what_failed() -> None:
    failing = kept("three", ("v1", "v2"), rise=0.0)
    failing.records[0].add(outcome("v2", 6, "failed", message="why", log="log"))
    several = [kept("one", ("v1", "v2")), kept("two", ("v1", "v2", "v3")), failing]
    page = compose_history(several, trends_of(several), 0, [])
    assert page.notes[-1].text == "v2, 1 run of waiting failed: why"
    assert page.tables[0].title == "v3, the newest, relative to v1"
    history = page.sections[0]
    assert history.title == "waiting, single: steady CPU"
    assert [row[0] for row in texts(history.tables[0])] == ["= v1", "▲ v2", "▲ v3"]
    assert history.pictures[0].count("<circle") == 3


def test_comparisons_of_a_worker_each_stand_side_by_side_with_the_dearest_first(
    tmp_path: Path,
) -> None:
    for name, share in (("rq", 0.002), ("arq", 0.02)):
        waited = {**times(5, 0.1, 0.1), "time_cpu_steady": share * 4, "cpu_share_steady": share}
        of = tuple(contestant(version, engine=name) for version in ("1.0", "2.0"))
        runs = {one.label: [waited] * 3 for one in of}
        finish(tmp_path / name, make_record(runs, scenario=name, revisions=of))
    paging.write(tmp_path / "page.html", [tmp_path])
    shown = re.sub(r"<[^>]+>", " ", (tmp_path / "page.html").read_text("utf-8"))
    assert "4 idle workers, 4 s, 3 runs each" in shown
    assert re.findall(r"a?rq [12]\.0", shown) == ["arq 1.0", "arq 2.0", "rq 1.0", "rq 2.0"]
    assert "No change point" not in shown
    assert "The middle of an axis" not in shown


def test_eight_scenarios_of_thirty_rounds_are_at_most_half_a_megabyte() -> None:
    one = kept("one", ("v1", "v2"), [f"scenario-{n}" for n in range(8)], rounds=30)
    assert len(html.render(page_of(*one.records)).encode()) <= 500_000


def test_fifty_revisions_in_eight_scenarios_are_at_most_3_megabytes() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    nights = [
        kept(f"night {number}", ("v0.1", f"v0.{number}", f"v0.{number + 1}"), names)
        for number in range(2, 52)
    ]
    page = compose_history(nights, trends_of(nights), 50, [])
    assert len(html.render(page).encode()) <= 3_000_000


def test_a_share_has_the_intervals_of_the_comparison_that_it_is_of() -> None:
    runs = {"a": [times(1, 1 + n / 50, 1) for n in range(5)], "b": [times(1, 2, 1)] * 5}
    record = make_record(runs)
    share = Share(
        scenarios=(record.scenario,), of=(record.scenario, "elsewhere"), index=1, number=2
    )
    whole = contents_of(record)
    part = replace(whole, comparison=structs.replace(whole.comparison, share=share))
    alone, of_two = (conclusion_of(one).compared[0].rows[1].ratios["cpu"] for one in (whole, part))
    expected = statistics.compare(record, scenarios=2).rows[1].ratios["cpu"]
    assert of_two == expected
    assert (alone.high or 0) < (of_two.high or 0)
