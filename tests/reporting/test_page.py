"""What a page shows of one comparison, and of many."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import vl_convert

from tests.records import contestant, disturb, make_record, outcome, times, working_engines
from tests.reporting.made_up import kept, trends_of
from waitbench.reporting import html
from waitbench.reporting.document import Cell, Chart, Page, Table, text_of
from waitbench.reporting.page import ReadFolder, compose
from waitbench.reporting.page_parts import Scene

ONE = kept("one", ("v1", "v2"), ("idle", "busy"))
LONG = [kept(f"{night}", ("v1", f"v{night}"), rise=0.0) for night in range(2, 6)]
MANY = [kept("one", ("v1", "v2")), kept("two", ("v1", "v2", "v3"))]


def charts(page: Page) -> list[Chart]:
    return [c for section in page.sections for part in section.parts for c in part.charts]


def texts(row: Sequence[Cell]) -> list[str]:
    return [html.shown(cell).text for cell in row]


def names(table: Table) -> list[str]:
    return [text_of(row[0]) for row in table.rows]


def test_a_page_of_one_comparison_begins_with_a_card_a_candidate_and_a_matrix() -> None:
    page = compose([ONE])
    assert page.title == "v2 against v1"
    assert page.facts[:3] == ("2 scenarios", "single", "5 rounds")
    assert page.facts[-1] == "20 runs, none failed"
    (card,) = page.cards
    assert (card.title, card.level) == ("v2", "worse")
    (headline,) = card.headlines
    assert headline.text == "1.49× more CPU while waiting"
    assert headline.aside == "in all 2 scenarios"
    assert [line.name for line in card.lines] == ["idle", "busy"]
    assert card.lines[0].text == "▲ 1.49× more"
    steady = page.matrices[0]
    assert [one.text for one in steady.headings] == ["revision", "idle", "busy"]
    assert texts(steady.rows[0]) == ["v2", "▲ 1.49× more", "▲ 1.49× more"]
    assert [one.target for one in steady.headings] == [None, "idle", "busy"]
    assert [section.id for section in page.sections] == ["idle", "busy"]
    assert page.sections[0].brief == "v2 ▲ 1.49× more"
    assert [chart.title for chart in charts(page)[:3]] == [
        "Every run, with medians", "CPU against lateness: lower left is better",
        "Where the CPU went",
    ]  # fmt: skip
    assert page.sources[0].command == "./waitbench compare"


def test_the_first_matrix_judges_as_the_sentences_do() -> None:
    scenes = [*kept("one", ("a", "b"), ("idle",)).scenes, Scene.of(working_engines())]
    one = ReadFolder(folder=Path("one"), context=scenes[1].record.context, scenes=scenes)
    page = compose([one])
    assert page.cards[0].level == "worse"
    steady, cpu = page.matrices[:2]
    assert texts(steady.rows[0]) == ["b", "▲ 1.49× more", "▲ 1.51× more*"]
    assert steady.notes == ("* total CPU: the steady phase is not known, or not the same work.",)
    assert texts(cpu.rows[0]) == ["b", "▲ 1.49× more", "▲ 1.51× more"]
    assert cpu.notes == ()
    said = page.sections[1].parts[0].sentences
    assert not any("no regression" in sentence or "waiting" in sentence for sentence in said)


def test_disturbed_rounds_are_marked_beside_what_they_say() -> None:
    record = kept("one", ("v1", "v2"), ("idle",)).scenes[0].record
    disturb(record, 5)
    one = ReadFolder(folder=Path("one"), context=record.context, scenes=[Scene.of(record)])
    page = compose([one])
    assert page.cards[0].cautions == (
        "In most rounds of 1 scenario other programs used the machine.",
    )
    for matrix in page.matrices:
        assert html.shown(matrix.rows[0][1]).text == "▲ 1.49× more†"
        assert matrix.notes == (
            "† In most of these rounds the machine did something else, in every attempt.",
        )


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


def test_a_page_of_many_begins_with_the_steps_and_has_every_trend() -> None:
    page = compose(MANY, trends_of(MANY), lead=("50 of 300 are shown",))
    assert page.lead == ("50 of 300 are shown",)
    (card,) = page.cards
    assert card.title == "waiting, single"
    assert card.level == "worse"
    assert " than in v" in card.headlines[0].text
    assert page.sections[0].id == "steps"
    assert "rose with v2" in page.sections[0].parts[0].sentences[0]
    assert names(page.matrices[0]) == ["v3", "v2", "v1"]
    parts = page.sections[1].parts
    assert [part.title for part in parts[:2]] == [
        "The workers' steady CPU, through history", "CPU time, through history",
    ]  # fmt: skip
    assert len(parts) == 4 + 2


def test_only_the_newest_revisions_are_beside_all_scenarios() -> None:
    page = compose(MANY, trends_of(MANY), newest=1)
    assert names(page.matrices[0]) == ["v3"]
    # Beside them the anchor, and those at a step.
    along = compose(LONG, trends_of(LONG), newest=1).sections[-1].parts[0]
    assert names(along.tables[0]) == ["v1", "v5"]
    assert [row["revision"] for row in along.charts[0].rows] == ["v1", "v5"]


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


def test_equal_specifications_stand_once() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    one, eight = (
        html.render(compose([kept("one", ("v1", "v2"), chosen)])) for chosen in (names[:1], names)
    )
    assert one.count('"xOffset"') == eight.count('"xOffset"') > 0
    assert one.count("cpu against") == eight.count("cpu against")


def test_fifty_revisions_in_eight_scenarios_are_at_most_3_megabytes() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    nights = [
        kept(f"night {number}", ("v0.1", f"v0.{number}", f"v0.{number + 1}"), names)
        for number in range(2, 52)
    ]
    page = compose(nights, trends_of(nights), newest=50)
    assert len(page.matrices[0].rows) == 50
    assert len(html.render(page).encode()) <= 3_000_000


def test_a_revision_alone_has_no_card_and_that_is_said() -> None:
    page = compose([kept("one", ("v1",))])
    assert not page.cards
    assert not page.matrices
    assert page.lead == ("One revision: there is nothing to compare it with.",)


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


def test_engines_have_a_colour_each_and_their_settings_a_shape() -> None:
    labels = ("x@1", "x@1+fast:1", "y@2")
    revisions = tuple(contestant(one, engine=one[0]) for one in labels)
    record = make_record({one: [times(1, 1, 1)] * 2 for one in labels}, revisions=revisions)
    one = ReadFolder(folder=Path("one"), context=record.context, scenes=[Scene.of(record)])
    fills = charts(compose([one]))[0].choices[0].fills
    first, second, third = fills["$colours"]["range"]
    assert first == second != third
    assert len(set(fills["$shapes"]["range"][:2])) == 2


def test_what_is_far_out_does_not_flatten_a_trend() -> None:
    nights = [kept(f"{n}", ("v0.1", f"v0.{n}"), rise=29.0 if n == 4 else 0.01) for n in range(2, 9)]
    (chart, *_) = charts(compose(nights, trends_of(nights)))
    usual, every = chart.choices
    low, high = usual.fills["$scale"]["domain"]
    assert (low > 0.5, high < 2, usual.title, every.title) == (
        True, True, "without outliers", "all",
    )  # fmt: skip
    assert {row["revision"]: row["beyond"] for row in chart.rows}["v0.4"] == "▲ 29× more"
    assert sum(bool(row["beyond"]) for row in chart.rows) == 1
