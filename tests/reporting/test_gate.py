"""The gate's verdict, wherever it is read."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.gate_runs import record_of, rounds, verdict_of
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Verdict
from waitbench.reporting.gate import annotations, junit, markdown, plain, texts


def test_the_headline_names_what_failed_and_where(failing: GateVerdict) -> None:
    assert texts.headline(failing) == "FAIL: new: system in waiting"
    first = failing.judgements[0]
    places = [replace(first, place=name) for name in ("a", "a", "b", "c", "d", "e")]
    assert texts.headline(replace(failing, judgements=tuple(places))) == (
        "FAIL: new: system in a; new: system in b; new: system in c; 2 more"
    )


def test_a_pass_says_at_once_what_is_open(
    unclear: GateVerdict, forgiven: GateVerdict, many: GateVerdict
) -> None:
    assert texts.headline(unclear) == "PASS, 1 of 1 question open: new: system in waiting"
    assert texts.headline(many) == (
        "PASS, 1 of 15 questions open: new: steady-system in 2 waiting scenarios together"
    )
    assert texts.headline(forgiven) == "PASS, no question open: 2 questions answered"
    nothing = replace(forgiven, judgements=())
    assert texts.headline(nothing) == "PASS, but no question could be asked"


def test_what_is_open_fails_by_name_where_none_may_be(
    unclear: GateVerdict, failing: GateVerdict
) -> None:
    strict = replace(unclear, strict=True)
    expected = "FAIL, open where none may be (--strict): new: system in waiting"
    assert texts.headline(strict) == expected
    both = replace(failing, strict=True, judgements=(*failing.judgements, *unclear.judgements))
    assert texts.headline(both) == "FAIL: new: system in waiting"


def test_a_rise_that_is_no_regression_is_remarked_with_why(forgiven: GateVerdict) -> None:
    assert texts.remarks(forgiven) == [
        "new in waiting: wake-ups while waiting rose × 12.3, but the workers' steady CPU "
        "fell × 0.06: no regression."
    ]


def test_a_rise_whose_cost_may_have_fallen_is_remarked(forgiven: GateVerdict) -> None:
    rose = replace(forgiven.judgements[0], cost_fell=False, excusable=True, cost_ratio=0.8)
    assert texts.remarks(replace(forgiven, judgements=(rose,))) == [
        "new in waiting: wake-ups while waiting rose × 12.3; whether the workers' steady CPU "
        "fell × 0.80 is not certain in so few rounds."
    ]


def test_noise_is_remarked_with_the_margin_that_it_supports(unclear: GateVerdict) -> None:
    (judgement,) = unclear.judgements
    assert judgement.supported_margin is not None
    what, how = texts.remarks(unclear)
    assert what == (
        "new in waiting, system:10%: open after 5 rounds. What was measured supports a margin of "
        f"about {judgement.supported_margin * 100:.0f} %."
    )
    assert how == "What is open: --max-rounds or --budget allow more, --full has longer runs."
    worst = replace(unclear, judgements=(replace(judgement, high=500.0, ratio=1.0),))
    assert "supports a margin of none below 1000 %." in texts.remarks(worst)[0]
    given_up = replace(unclear, judgements=(replace(judgement, hopeless=True),))
    assert "after 5 rounds, and given up because more would hardly" in texts.remarks(given_up)[0]


def test_too_few_rounds_are_remarked() -> None:
    verdict = verdict_of(
        record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), criteria=["cpu:10%", "wakeups:5%"]
    )
    assert texts.remarks(verdict)[:2] == [
        "new in waiting, cpu:10%: open: too few rounds.",
        "new in waiting, wakeups:5%: open: too few rounds.",
    ]
    assert texts.ratio_text(verdict.judgements[0]) == "–"
    assert texts.findable_text(verdict.judgements[0]) == "–"


def test_what_the_runs_do_not_have_is_remarked() -> None:
    verdict = verdict_of(record_of(rounds(1, 1), rounds(1, 1)), criteria=["wakeups:5%"])
    assert texts.headline(verdict) == "NOT MEASURED, 1 of 1 question: new: wakeups in waiting"
    assert texts.remarks(verdict) == [
        "No answer for new: the runs do not have wake-ups while waiting."
    ]


def test_what_was_not_measured_does_not_pass_in_any_form(crashing: GateVerdict) -> None:
    assert texts.headline(crashing) == (
        "NOT MEASURED, 2 of 2 questions: new: cpu in waiting; new: system in waiting"
    )
    assert texts.remarks(crashing) == [
        "No answer for new: new failed 3 times in a row: exit code 1."
    ]
    data = plain.plain(crashing)
    assert (data["passed"], data["not_measured"]) == (False, 2)
    assert data["judgements"][0]["verdict"] == "not measured"
    suite = ElementTree.fromstring(junit.render(crashing))
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "0")
    error = suite.find("testcase/error")
    assert error is not None
    assert "exit code 1" in (error.get("message") or "")
    assert all(line.startswith("::error ") for line in annotations.render(crashing))
    assert "**not measured**" in markdown.render(crashing)


def test_rounds_that_were_disturbed_are_remarked(unclear: GateVerdict) -> None:
    judgement = replace(unclear.judgements[0], disturbed=3)
    verdict = replace(unclear, judgements=(judgement,), disturbed_rounds=3)
    said = texts.remarks(verdict)
    assert "open: in 3 of 5 rounds the machine did something else." in said[0]
    assert said[-1] == "3 rounds count although the machine did something else in every attempt."


def test_what_ended_before_it_was_settled_is_remarked_with_why(unclear: GateVerdict) -> None:
    judgement = replace(unclear.judgements[0], why_given_up="new hung: still running")
    said = texts.remarks(replace(unclear, judgements=(judgement,)))
    assert "open after 5 rounds, and given up, as new hung: still running." in said[0]


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
    assert texts.remarks(verdict) == [
        said, "new in other: not supported, so not judged.", "syscalls: none",
    ]  # fmt: skip


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


def test_a_verdict_is_shown_with_what_qualifies_it(
    forgiven: GateVerdict, unclear: GateVerdict
) -> None:
    shown = [texts.verdict_text(judgement) for judgement in forgiven.judgements]
    assert shown == ["cost fell", "faster"]
    (judgement,) = unclear.judgements
    assert texts.verdict_text(judgement) == "open"
    assert texts.verdict_text(replace(judgement, cost_fell=True)) == "cost fell"
    settled = replace(judgement, verdict=Verdict.FASTER, cost_fell=True)
    assert texts.verdict_text(settled) == "faster"
