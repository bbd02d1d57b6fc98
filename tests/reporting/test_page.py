"""What a page shows of one comparison, and of many."""

import json
from dataclasses import replace
from pathlib import Path

import vl_convert

from tests.records import make_record, outcome, times
from tests.reporting.made_up import kept, trends_of
from waitbench.reporting import html
from waitbench.reporting.document import Chart, Page, Table, text_of
from waitbench.reporting.page import ReadFolder, compose
from waitbench.reporting.page_parts import Scene

ONE = kept("one", ("v1", "v2"), ("idle", "busy"))
MANY = [kept("one", ("v1", "v2")), kept("two", ("v1", "v2", "v3"))]


def charts(page: Page) -> list[Chart]:
    return [c for section in page.sections for part in section.parts for c in part.charts]


def names(table: Table) -> list[str]:
    return [text_of(row[0]) for row in table.rows]


def test_a_page_of_runs_that_failed_says_how_many_and_shows_their_last_words_and_log() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 2, "b": []}, scenario="idle")
    for number in (1, 2):
        log = f"Traceback of {number}\nValueError: <boom>"
        record.add(outcome("b", number, "failed", message="exit code 1: <boom>", log=log))
    record.add(outcome("a", 1, "disturbed", message="others used 1 s", log="no failure"))
    context = record.context
    page = compose([ReadFolder(folder=Path("one"), context=context, scenes=[Scene.of(record)])])
    (card,) = page.cards
    assert card.level == "failed"
    assert card.failures == ("2 runs of idle: failed: exit code 1: <boom>",)
    assert page.failures == ()
    assert page.facts[-1] == "2 runs with figures, 2 failed"
    part = page.sections[0].parts[0]
    assert "b: runs without a measurement: 2 × failed (exit code 1: <boom>)." in part.sentences
    (log_shown,) = part.logs
    assert log_shown.title == "The end of the log of b, failed, round 2"
    assert log_shown.text == "Traceback of 2\nValueError: <boom>"
    shown = html.render(page)
    assert "<pre><bdi>Traceback of 2\nValueError: &lt;boom&gt;</bdi></pre>" in shown
    assert "no failure" not in shown
    assert "<boom>" not in shown


def test_a_page_of_many_shows_no_logs_but_says_what_failed() -> None:
    failing = kept("three", ("v1", "v2"), rise=0.0)
    failing.scenes[0].record.add(outcome("v2", 6, "failed", message="why", log="log"))
    all_kept = [*MANY, replace(failing, scenes=[Scene.of(failing.scenes[0].record)])]
    page = compose(all_kept, trends_of(all_kept))
    part = page.sections[-1].parts[-1]
    assert part.logs == ()
    assert "v2: runs without a measurement: 1 × failed (why)." in part.sentences


def test_what_differs_in_its_parameters_or_name_has_a_link_of_its_own() -> None:
    page = compose([kept("one", ("v1", "v2"), ("a b", "a-b", "é", "how"))])
    assert [section.id for section in page.sections] == [
        "a-b", "a-b-2", "scenario", "how-2",
    ]  # fmt: skip


def test_every_chart_is_a_specification_that_compiles() -> None:
    for page in (compose([ONE]), compose(MANY, trends_of(MANY))):
        for chart in charts(page):
            for choice in chart.choices or (None,):
                spec = chart.filled(choice)
                vl_convert.vegalite_to_vega({**spec, "data": {"values": list(chart.rows)}})
                assert '"$' not in json.dumps(spec), "a placeholder is left"


def test_fifty_revisions_in_eight_scenarios_are_at_most_3_megabytes() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    nights = [
        kept(f"night {number}", ("v0.1", f"v0.{number}", f"v0.{number + 1}"), names)
        for number in range(2, 52)
    ]
    page = compose(nights, trends_of(nights), newest=50)
    assert len(page.matrices[0].rows) == 50
    assert len(html.render(page).encode()) <= 3_000_000


def test_a_failing_baseline_is_named_above_all_cards() -> None:
    record = make_record({"a": [], "b": [times(1, 1, 1)] * 2}, scenario="idle")
    record.add(outcome("a", 1, "timed-out", message="after 60 s."))
    one = ReadFolder(folder=Path("one"), context=record.context, scenes=[Scene.of(record)])
    page = compose([one])
    assert page.failures == ("a, 1 run of idle: timed-out: after 60 s",)
    assert page.cards[0].level == "not measured"


def test_better_here_and_worse_there_is_mixed_and_the_worst_lateness_is_named() -> None:
    def runs(steady: float, late: float) -> list[dict[str, float]]:
        wobbles = (0.99, 1.0, 1.01, 1.0, 0.995)
        return [
            {**times(5, 1, 1), "time_cpu_steady": steady * w, "item_latency_p99": late * w}
            for w in wobbles
        ]

    records = [
        make_record({"a": runs(1, 0.001), "b": runs(0.1, 0.002)}, scenario="idle"),
        make_record({"a": runs(1, 0.001), "b": runs(3.0, 1.487)}, scenario="busy"),
    ]
    scenes = [Scene.of(record) for record in records]
    one = ReadFolder(folder=Path("one"), context=records[0].context, scenes=scenes)
    (card,) = compose([one]).cards
    assert card.level == "mixed"
    assert [headline.text for headline in card.headlines] == [
        "3× more CPU while waiting", "10× less CPU while waiting",
    ]  # fmt: skip
    assert card.price == "lateness p99 0.999 ms → 1.49 s: later (busy, the worst)"
