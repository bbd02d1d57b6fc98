"""The gate's verdict, wherever it is read."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.analysis.judged import judge
from tests.gate_runs import record_of, rounds, verdict_of
from tests.records import make_record, times
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.analysis.tail import Tail
from waitbench.analysis.verdicts import GateOutcome, Verdict
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


def test_every_outcome_has_its_own_headline(
    unclear: GateVerdict, forgiven: GateVerdict, many: GateVerdict
) -> None:
    assert texts.headline(unclear) == "INCONCLUSIVE, 1 of 1 question: new: system in waiting"
    assert texts.headline(many) == (
        "INCONCLUSIVE, 1 of 23 questions: new: steady-system in 2 waiting scenarios together"
    )
    assert texts.headline(forgiven) == "PASS: 2 questions answered"
    nothing = replace(forgiven, judgements=())
    assert texts.headline(nothing) == "NOT MEASURED: no question could be asked"
    failed = FailedRuns(label="new", scenario="waiting", count=2, message="exit code 1")
    crashed = replace(forgiven, failed_runs=(failed,))
    assert texts.headline(crashed) == "NOT MEASURED: new failed in 2 runs of waiting"
    lost = replace(forgiven, lost=("new in waiting",))
    assert texts.headline(lost) == "NOT MEASURED: new in waiting is not supported any more"


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


def test_a_rise_whose_cost_may_have_fallen_is_remarked(forgiven: GateVerdict) -> None:
    rose = replace(forgiven.judgements[0], verdict=Verdict.SLOWER, excusable=True, cost_ratio=0.8)
    assert texts.remarks(replace(forgiven, judgements=(rose,)))[-1] == (
        "new in waiting: wake-ups while waiting 12× more; whether the workers' steady CPU, "
        "1.25× less, pays for it is not certain in so few rounds."
    )


def test_noise_is_remarked_with_the_rise_that_is_possible(unclear: GateVerdict) -> None:
    (judgement,) = unclear.judgements
    assert judgement.high is not None
    what, how = texts.remarks(unclear)
    assert what == (
        "new in waiting, system:10%: inconclusive after 5 rounds. A rise of up to "
        f"{(judgement.high - 1) * 100:.0f} % is possible."
    )
    assert how == "--rounds or --budget allow more rounds, --full has longer runs."
    worst = replace(unclear, judgements=(replace(judgement, high=500.0, ratio=1.0),))
    assert "A rise of more than 1000 % is possible." in texts.remarks(worst)[0]
    given_up = replace(unclear, judgements=(replace(judgement, hopeless=True),))
    assert "after 5 rounds, and given up because more would hardly" in texts.remarks(given_up)[0]


def test_a_rise_just_above_the_margin_reads_as_above_it(unclear: GateVerdict) -> None:
    # Half of the interval is less than the margin, which is no reason to be inconclusive.
    (judgement,) = unclear.judgements
    close = replace(judgement, ratio=1.042, low=0.958, high=1.1027, rounds=30)
    assert texts.remarks(replace(unclear, judgements=(close,)))[0].endswith(
        "A rise of up to 10.3 % is possible."
    )


def test_too_few_rounds_are_remarked() -> None:
    verdict = verdict_of(
        record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), criteria=["cpu:10%", "wakeups:5%"]
    )
    assert texts.remarks(verdict)[:2] == [
        "new in waiting, cpu:10%: inconclusive: too few rounds.",
        "new in waiting, wakeups:5%: inconclusive: too few rounds.",
    ]
    assert texts.ratio_text(verdict.judgements[0]) == "–"
    assert texts.findable_text(verdict.judgements[0]) == "–"


def test_what_the_runs_do_not_have_is_remarked() -> None:
    verdict = verdict_of(record_of(rounds(1, 1), rounds(1, 1)), criteria=["wakeups:5%"])
    assert texts.headline(verdict) == "NOT MEASURED: 1 of 1 questions, new: wakeups in waiting"
    assert texts.remarks(verdict) == [
        "No answer for new: the runs do not have wake-ups while waiting."
    ]


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


def test_steal_is_remarked(failing: GateVerdict) -> None:
    said = texts.remarks(replace(failing, steal_share=0.08))
    assert said[-1] == "A hypervisor took 8.0 % of the CPU that was asked for."


def test_what_ended_before_it_was_settled_is_remarked_with_why(unclear: GateVerdict) -> None:
    judgement = replace(unclear.judgements[0], why_given_up="new hung: still running")
    said = texts.remarks(replace(unclear, judgements=(judgement,)))
    assert "inconclusive after 5 rounds, and given up, as new hung: still running." in said[0]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1 run was repeated because the machine did something else meanwhile."),
        (3, "3 runs were repeated because the machine did something else meanwhile."),
    ],
)
def test_what_was_disturbed_not_supported_or_left_out_is_remarked(
    failing: GateVerdict, count: int, said: str
) -> None:
    verdict = replace(
        failing, disturbed_runs=count, unsupported=("new in other",), left_out=("syscalls: none",)
    )
    assert texts.remarks(verdict)[1:] == [
        said,
        "new in other: not asked, as the baseline does not support it.",
        "syscalls: none",
    ]


@pytest.mark.parametrize(
    ("ratio", "low", "high", "shown"),
    [
        (1.2345, 0.987, 1.5678, "1.23 (0.99–1.57)"),
        (1.2345, 0.987, 1e6, "1.23 (0.99–> 1000)"),
        (0.0623, 0.0512, 0.1234, "0.062 (0.051–0.12)"),
        (123.4, 98.76, 456.7, "123 (98.8–457)"),
    ],
)
def test_a_ratio_is_shown_with_its_bounds(
    failing: GateVerdict, ratio: float, low: float, high: float, shown: str
) -> None:
    judgement = replace(failing.judgements[0], ratio=ratio, low=low, high=high)
    assert texts.ratio_text(judgement) == shown


@pytest.mark.parametrize(
    ("rise", "shown"),
    [(0.054, "+ 5.4 %"), (0.1049, "+ 10 %"), (0.32, "+ 32 %"), (25.0, "> 1000 %")],
)
def test_the_smallest_rise_that_would_have_been_found_is_shown(
    failing: GateVerdict, rise: float, shown: str
) -> None:
    judgement = replace(failing.judgements[0], would_have_found=rise)
    assert texts.findable_text(judgement) == shown


def test_a_ratio_without_a_lower_bound_shows_the_upper_one(unclear: GateVerdict) -> None:
    judgement = replace(unclear.judgements[0], ratio=1.02, low=None, high=1.25)
    assert texts.ratio_text(judgement) == "1.02 (≤ 1.25)"


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
