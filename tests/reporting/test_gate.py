"""The gate's verdict, wherever it is read."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.analysis.judged import judge
from tests.gate_runs import verdict_of
from tests.records import make_record, times
from waitbench.analysis.criteria import parse
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.rule import Dear
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.reporting import gate as texts
from waitbench.reporting.document import text_of
from waitbench.reporting.gate_formats import annotations, junit, plain, rendered


def test_the_headline_names_what_failed_and_where(failing: GateVerdict) -> None:
    assert texts.headline(failing) == "FAIL: new: system time 1.5× more in waiting"
    first = failing.judgements[0]
    places = [replace(first, place=name) for name in ("a", "a", "b", "c", "d", "e")]
    assert texts.headline(replace(failing, judgements=tuple(places))) == (
        "FAIL: new: system time 1.5× more in a; 4 more"
    )


def test_with_a_floor_the_ratio_is_that_to_what_is_allowed() -> None:
    record = make_record({"a": [times(1, 0, 0.5)] * 11, "b": [times(1, 0, 3)] * 11})
    (judgement,) = judge(record, criteria=parse(["system:100%,500ms"], METRICS))
    assert texts.ratio_text(judgement) == "2.0 of allowed (2.0)"
    verdict = verdict_of(record, criteria=["system:100%,500ms"])
    assert texts.headline(verdict).endswith("system time 2.0 of allowed in waiting")


@pytest.mark.parametrize("name", ["failing", "forgiven", "unclear", "crashing", "many"])
def test_every_form_agrees_with_the_exit_code(name: str, request: pytest.FixtureRequest) -> None:
    base: GateVerdict = request.getfixturevalue(name)
    failed = FailedRuns(label="new", scenario="waiting", count=2, message="exit code 1")
    changed = [
        base,
        replace(base, inconclusive_passes=True),
        replace(base, failed_runs=(failed,)),
        replace(base, lost=("new in waiting",)),
        replace(base, judgements=()),
    ]
    for verdict in changed:
        passes, outcome = verdict.exit_code == 0, verdict.outcome
        data = plain(verdict)
        assert (data["outcome"], data["exit_code"]) == (outcome.value, int(verdict.exit_code))
        assert bool(data["reasons"]) is (outcome is not GateOutcome.PASS)
        suite = ElementTree.fromstring(junit(verdict))
        bad = int(suite.get("failures") or 0) + int(suite.get("errors") or 0)
        assert bool(bad) is not passes
        assert (suite.get("failures") == "0") is (outcome is not GateOutcome.FAIL)
        assert texts.headline(verdict).startswith(outcome.value.upper())
        first = rendered(verdict).splitlines()[0]
        assert first.startswith("### ")
        assert f" {outcome.value.upper()}" in first
        errors = [line for line in annotations(verdict) if line.startswith("::error")]
        if outcome in (GateOutcome.PASS, GateOutcome.INCONCLUSIVE):
            assert not errors


def test_a_rise_just_above_the_margin_reads_as_above_it(unclear: GateVerdict) -> None:
    # Half of the interval is less than the margin, which is no reason to be inconclusive.
    (judgement,) = unclear.judgements
    close = replace(judgement, ratio=1.042, low=0.958, high=1.1027, rounds=30)
    assert texts.remarks(replace(unclear, judgements=(close,)))[0].endswith(
        "A rise of up to 10.3 % is possible."
    )


def test_rounds_that_were_disturbed_are_remarked(unclear: GateVerdict) -> None:
    judgement = replace(unclear.judgements[0], disturbed=3, rounds=5)
    verdict = replace(
        unclear, judgements=(judgement,), disturbed_rounds=3, rounds=6, foreign_cores=1.3
    )
    said = texts.remarks(verdict)
    assert "inconclusive: in 3 of 5 rounds the machine was used by other programs." in said[0]
    assert said[-1].startswith("3 rounds count although other programs used 1.3 cores in every")
    busy = texts.reasons(replace(verdict, rounds=5))
    assert busy[0].startswith("Other programs used 1.3 cores in 3 of 5 rounds, so 1 questions")


def test_the_means_of_what_fails_by_rare_dear_runs_are_remarked(failing: GateVerdict) -> None:
    cpu = replace(failing.judgements[1], ratio=1.02, means=2.4, by_dear_runs=True)
    said = texts.remarks(replace(failing, judgements=(cpu,)))
    assert said[-1] == (
        "new in waiting, cpu:50%: usually +2.0 %, but 2.4× more by the means: some runs cost "
        "much more."
    )


@pytest.mark.parametrize(
    ("name", "allowed", "base", "usual", "rare"),
    [("foreign-cpu", "25%,250ms", 1e-4, 1e-6, 9e-5), ("cpu", "25%", 100.0, 8.0, 100.0)],
)
def test_means_that_no_answer_hangs_on_are_not_remarked(
    name: str, allowed: str, base: float, usual: float, rare: float
) -> None:
    key = BY_NAME[name].key
    runs = {"a": [{key: base}] * 30, "b": [{key: rare}] + [{key: usual}] * 29}
    verdict = verdict_of(make_record(runs), criteria=[f"{name}:{allowed}"], most_rounds=30)
    assert verdict.outcome is GateOutcome.PASS
    assert texts.remarks(verdict) == []


def test_what_only_the_means_keep_from_a_pass_is_inconclusive_for_that_reason() -> None:
    costs = [9.0 if number == 13 else 1 + number / 1000 for number in range(30)]
    runs = {"a": [times(1, 1, 0)] * 30, "b": [times(1, cost, 0) for cost in costs]}
    said = texts.remarks(verdict_of(make_record(runs), criteria=["cpu:10%"], most_rounds=30))
    assert said[0] == (
        "b in waiting, cpu:10%: inconclusive after 30 rounds: usually +1.5 %, but +28 % by the "
        "means: some runs cost much more."
    )
    assert len(said) == 2, "and that there may be more rounds"


def test_the_table_tells_a_share_of_what_is_allowed_from_a_ratio() -> None:
    record = make_record({"a": [times(1, 0, 0.5)] * 11, "b": [times(1, 0, 3)] * 11})
    verdict = verdict_of(record, criteria=["system:100%,500ms", "system:100%"])
    share, ratio = ([text_of(cell) for cell in row] for row in texts.table(verdict).rows)
    assert share == ["✗ system time", "2.0 of allowed", "2.0", "+100 % + 0.5 s"]
    assert ratio == ["✗ system time", "6.0× more", "6.0×", "+100 %"]


def test_dear_runs_are_told_by_their_number(failing: GateVerdict) -> None:
    found = Dear(candidate=11, baseline=1, pairs=60)
    judgement = replace(failing.judgements[0], dear=found, by_dear_runs=True)
    said = texts.reasons(replace(failing, judgements=(judgement,)))
    assert said[0] == (
        "new: dear runs of system time in waiting (11 of 60 runs cost more than twice the "
        "baseline's median, and 1 of the baseline's), beyond system:10%."
    )
    within = replace(judgement, verdict=Verdict.INCONCLUSIVE, high=1.02, by_dear_runs=False)
    said = texts.reasons(replace(failing, judgements=(within,)))
    assert "11 of 60 runs cost more than twice" in said[0]
