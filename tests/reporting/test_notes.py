"""Every fact that is said beside figures, each once and with what to do."""

from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.scanned import scan_records
from tests.gate_runs import failing, unclear, verdict_of
from tests.records import contestant, disturb, facts, make_record, measurement, outcome, times
from waitbench.analysis import results, statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.rule import Dear
from waitbench.analysis.scan import scans
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.model.run import BY_PROC
from waitbench.reporting import notes, scan
from waitbench.reporting.answer import findings


def said(*records: Record) -> list[str]:
    """What is said of comparisons besides what they come to."""
    compared = [statistics.compare(record) for record in records]
    return [one.text for one in findings(compared).notes if one.kind not in notes.HEADLINES]


def headlines(*records: Record) -> list[str]:
    compared = [statistics.compare(record) for record in records]
    changes = notes.changes(results.of_comparisons(compared))
    return [f"{one.level} {one.text}" for one in changes]


def of(verdict: GateVerdict) -> list[str]:
    """What a gate says, the outcome first."""
    return [one.text for one in notes.of_verdict(verdict)]


def runs(
    steady: float, *, late: float | None = None, count: int = 4, **more: float
) -> list[dict[str, float]]:
    lateness = {} if late is None else {"item_latency_p99": late}
    return [
        {**times(1, 1, 0.5), "time_cpu_steady": steady * (1 + i / 100), **lateness, **more}
        for i in range(count)
    ]


def pair(**changes: Any) -> Record:
    return make_record({"a": [times(1, 1, 1)] * 2, "b": [times(1, 1, 1)] * 2}, **changes)


def test_one_round_says_its_change_and_that_it_has_no_interval() -> None:
    record = make_record({"old": runs(2, count=1), "new": runs(0.1, count=1)})
    assert headlines(record) == ["? steady CPU 20× less, one round: no interval"]
    assert said(record) == ["one round cannot tell a change from chance: --rounds 5 can"]


def test_where_the_steady_phase_is_not_known_total_cpu_is_judged_and_called_so() -> None:
    record = make_record({"old": [times(1, 1, 1)] * 3, "new": [times(1, 3, 1)] * 3})
    assert headlines(record) == ["▲ CPU in all 2.0× more (95 %: 2.0×)"]


def test_many_candidates_have_one_line() -> None:
    costs = {f"v{number}": runs(cost) for number, cost in enumerate((4, 8, 8, 1, 4, 4))}
    assert headlines(make_record(costs)) == [
        "▲ of 5 revisions 2 cost more and 1 cost less: see each row"
    ]


def test_the_headlines_end_with_how_much_later_items_certainly_are_and_where_most() -> None:
    records = [
        make_record({"a": runs(1, late=0.001), "b": runs(0.1, late=0.002)}, scenario="idle"),
        make_record({"a": runs(1, late=0.001), "b": runs(0.1, late=0.008)}, scenario="busy"),
        make_record({"a": runs(1, late=1e-6), "b": runs(0.1, late=3e-6)}, scenario="nothing"),
    ]
    assert headlines(*records) == [
        "▼ steady CPU 10× less in all 3 scenarios",
        "▲ lateness p99 up to 8.0× more in busy: 1.00 ms → 8.00 ms",
    ]


@pytest.mark.parametrize(
    ("label", "reason", "text"),
    [
        ("new", "not-supported", "– not supported in waiting"),
        ("old", "not-supported", "– not supported in waiting"),
        ("new", "ended", "– ended in waiting"),
        ("new", "failed", "✗ not measured in waiting"),
    ],
)
def test_a_scenario_without_a_ratio_says_why(label: str, reason: str, text: str) -> None:
    record = make_record({"old": runs(1), "new": runs(1)})
    record.measurements = [run for run in record.measurements if run.label != label]
    record.add(outcome(label, 1, reason, message="why"))
    other = make_record({"old": runs(1), "new": runs(1)}, scenario="other")
    assert text in headlines(record, other)


def test_what_has_runs_below_the_floor_on_both_sides_is_not_compared() -> None:
    for values in ((0.0, 0.0041, 0.0002, 0.0039), (0.0, 0.0003, 0.0002, 0.0001)):
        near = [{**times(1, 0.1, 0.1), "time_cpu_steady": value} for value in values]
        assert headlines(make_record({"old": near, "new": near})) == ["– steady CPU not compared"]


def test_runs_without_a_measurement_are_said_once_with_their_last_words() -> None:
    records = [pair(scenario=name) for name in ("one", "two")]
    for record in records:
        for number, message in ((3, "first"), (4, "exit code 1")):
            record.add(outcome("b", number, "failed", message=message))
    assert said(*records) == ["b, 4 runs of one and 1 more failed: exit code 1"]


def test_identical_builds_and_mixed_origins_are_said_once() -> None:
    same = facts(extensions={"x.so": "same"}, package_sha256="same")
    revisions = (contestant("a", facts=same), contestant("b", facts=same))
    twice = [pair(revisions=revisions, mixed_origins=True, scenario=name) for name in "xy"]
    assert said(*twice) == [
        "b is the same build as a: what differs is chance",
        "different compilers built these, and a difference may be theirs: leave out --origin mixed",
    ]


def test_rounds_that_are_left_out_and_those_that_were_disturbed_are_said() -> None:
    same = [times(1, 1, 1)] * 3
    record = make_record({"old": same, "new": same[:2]})
    for label in ("old", "new"):
        record.add(measurement(label, 4, times(1, 1, 1), marks=("disturbed",)))
    assert said(record) == [
        "1 of 3 rounds disturbed by other programs: repeat on an idle machine",
        "1 round is left out, as not every revision has a measurement there",
    ]
    busy = make_record({"old": same, "new": same}, scenario="busy")
    disturb(busy, 1, 2)
    assert "most of those in busy" in said(record, busy)[0]


def test_other_packages_that_differ_are_said() -> None:
    old, new = (
        contestant(label, facts=facts(requirements=(f"json=={version}", "same==1")))
        for label, version in (("old", "3"), ("new", "4"))
    )
    both = {"old": [times(1, 1, 1)] * 2, "new": [times(1, 1, 1)] * 2}
    assert said(make_record(both, revisions=(old, new))) == [
        "other packages differ, too: json 3 (old), 4 (new): a new BENCH_CACHE installs all anew"
    ]


@pytest.mark.parametrize(
    ("steady_s", "marks", "is_said"),
    [(0.06, (), True), (0.6, (), False), (0.06, (BY_PROC,), False)],
)
def test_what_wakes_up_for_little_is_said_to_pay_for_being_counted(
    steady_s: float, marks: tuple[str, ...], is_said: bool
) -> None:
    record = make_record({"a": []})
    for number in (1, 2):
        metrics = {"time_cpu_steady": steady_s, "wakeups": 25_000}
        record.add(measurement("a", number, metrics, marks=marks))
    text = "a wakes up for less than 10 µs at a time: being counted may raise its CPU by a third"
    assert (text in said(record)) is is_said


def test_the_headline_of_a_gate_names_what_failed_and_where() -> None:
    verdict = failing()
    assert of(verdict)[0] == "FAIL: new: system time 1.5× more in waiting"
    first = verdict.judgements[0]
    records = [make_record({}, scenario=name) for name in ("a", "a", "b", "c", "d", "e")]
    places = [replace(first, records=(record,)) for record in records]
    several = replace(verdict, judgements=tuple(places))
    assert of(several)[0] == "FAIL: new: system time 1.5× more in a; 4 more"


def answers(verdict: GateVerdict) -> list[str]:
    """The answers of a gate, in a line each."""
    return [notes.sentence(one) for one in results.of_verdict(verdict)]


def test_with_a_floor_a_ratio_is_that_to_what_is_allowed() -> None:
    record = make_record({"a": [times(1, 0, 0.5)] * 16, "b": [times(1, 0, 3)] * 16})
    verdict = verdict_of(record, criteria=["system:100%,500ms"])
    assert answers(verdict) == [
        "b: system time 2.0 of allowed (2.0) in waiting, allowed +100 % + 0.5 s"
    ]


def test_what_the_table_of_a_gate_says_is_no_note_too() -> None:
    verdict = unclear()
    disturbed = replace(verdict.judgements[0], disturbed=3, rounds=5)
    for judgement in (verdict.judgements[0], disturbed, failing().judgements[0]):
        (outcome_only,) = notes.of_verdict(replace(verdict, judgements=(judgement,)))
        assert outcome_only.kind == notes.OUTCOME


def test_dear_runs_are_given_by_their_number() -> None:
    verdict = failing()
    found = Dear(candidate=11, baseline=1, pairs=60)
    judgement = replace(verdict.judgements[0], dear=found, by_dear_runs=True, ratio=1.02, means=2.4)
    assert answers(replace(verdict, judgements=(judgement,))) == [
        "new: dear runs of system time 11 of 60 (baseline 1) in waiting, allowed +10 %"
    ]
    within = replace(
        judgement, verdict=Verdict.INCONCLUSIVE, high=1.02, by_dear_runs=False, means=None
    )
    assert "11 of 60 runs cost more than twice" in of(replace(verdict, judgements=(within,)))[1]


def test_what_only_the_means_keep_from_a_pass_is_inconclusive_for_that_reason() -> None:
    costs = [9.0 if number == 13 else 1 + number / 1000 for number in range(30)]
    both = {"a": [times(1, 1, 0)] * 30, "b": [times(1, cost, 0) for cost in costs]}
    text = of(verdict_of(make_record(both), criteria=["cpu:10%"], most_rounds=30))[1]
    assert text == (
        "b: CPU in all +1.5 % (+1.0…+1.9 %) in waiting, allowed +10 %: inconclusive: +28 % by the "
        "means, as some runs cost much more"
    )


@pytest.mark.parametrize(
    ("name", "allowed", "base", "usual", "rare"),
    [("foreign-cpu", "25%,250ms", 1e-4, 1e-6, 9e-5), ("cpu", "25%", 100.0, 8.0, 100.0)],
)
def test_means_that_no_answer_hangs_on_are_not_said(
    name: str, allowed: str, base: float, usual: float, rare: float
) -> None:
    key = BY_NAME[name].key
    both = {"a": [{key: base}] * 30, "b": [{key: rare}] + [{key: usual}] * 29}
    verdict = verdict_of(make_record(both), criteria=[f"{name}:{allowed}"], most_rounds=30)
    assert verdict.outcome is GateOutcome.PASS
    assert of(verdict) == ["PASS: 1 question, no regression"]


def test_a_scan_says_what_each_input_adds_and_where_no_line_fits() -> None:
    costs = {
        "v0": lambda n: 0.02 + 0.0002 * n,
        "dear": lambda n: 0.02 + 0.0006 * n,
        "square": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2,
    }
    dear, square = scan.headlines(scans(scan_records(costs)))
    assert f"{dear.level} {dear.text}" == "▲ dear: 3.0× more CPU for each partition (95 %: 3.0×)"
    assert square.level == "!"
    assert square.text.startswith("square: not a line: the cost at 1,024 partitions is more")
    (alone,) = scan.headlines(scans(scan_records({"v0": costs["v0"]})))
    assert alone.text.startswith("v0: each partition 20")
