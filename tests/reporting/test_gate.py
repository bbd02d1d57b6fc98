"""The gate's verdict, wherever it is read."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.analysis.judged import judge
from tests.gate_runs import verdict_of
from tests.records import make_record, times
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.tail import Tail
from waitbench.analysis.verdicts import GateOutcome
from waitbench.reporting import gate as texts
from waitbench.reporting.gate_formats import FORMATS, annotations, junit, plain


def test_the_headline_names_what_failed_and_where(failing: GateVerdict) -> None:
    assert texts.headline(failing) == "FAIL: new: system time 1.5× more in waiting"
    first = failing.judgements[0]
    places = [replace(first, place=name) for name in ("a", "a", "b", "c", "d", "e")]
    assert texts.headline(replace(failing, judgements=tuple(places))) == (
        "FAIL: new: system time 1.5× more in a; new: system time 1.5× more in b; "
        "new: system time 1.5× more in c; 2 more"
    )


def test_a_rise_from_next_to_nothing_is_at_least_so_large() -> None:
    from_nothing = make_record({"a": [times(1, 0, 0)] * 6, "b": [times(1, 0, 1)] * 6})
    from_something = make_record({"a": [times(1, 0, 0.5)] * 6, "b": [times(1, 0, 1)] * 6})
    (least,), (exact,) = judge(from_nothing), judge(from_something)
    assert (least.is_bound, exact.is_bound) == (True, False)
    assert texts.ratio_text(least).startswith("≥ ")
    assert texts.ratio_text(exact).startswith("2.00 ")
    verdict = verdict_of(from_nothing, criteria=["system:10%"])
    assert "system time at least" in texts.headline(verdict)


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
        first = FORMATS["markdown"](verdict).splitlines()[0]
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
    judgement = replace(unclear.judgements[0], disturbed=3)
    verdict = replace(
        unclear, judgements=(judgement,), disturbed_rounds=3, rounds=6, foreign_cores=1.3
    )
    said = texts.remarks(verdict)
    assert "inconclusive: in 3 of 5 rounds the machine did something else." in said[0]
    assert said[-1].startswith("3 rounds count although the machine did something else in every")
    assert said[-1].endswith("others used 1.3 cores then.")
    busy = texts.reasons(replace(verdict, rounds=5))
    assert busy[0].startswith("Others used 1.3 cores in 3 of 5 rounds, so 1 questions have no")


def test_means_that_differ_from_the_usual_ratio_are_remarked(failing: GateVerdict) -> None:
    cpu = replace(failing.judgements[1], ratio=1.02, means=2.4)
    said = texts.remarks(replace(failing, judgements=(cpu,)))
    assert said[-1] == (
        "new in waiting, cpu:50%: usually 2 % more, but 2.4× more by the means: some runs cost "
        "much more."
    )


def test_rare_bad_runs_are_shown_by_their_number(failing: GateVerdict) -> None:
    found = Tail(
        rounds=8,
        extreme=5,
        extreme_of_baseline=0,
        runs=16,
        means=3.1,
        is_worse=True,
        is_clear=False,
    )
    judgement = replace(failing.judgements[0], tail=found)
    assert texts.ratio_text(judgement) == "bad 5/16, was 0/16"
