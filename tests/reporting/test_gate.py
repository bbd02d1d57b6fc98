"""The gate's verdict, wherever it is read."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gate_runs import Ratio, counted, noisy, record_of, rounds, scaled, verdict_of, working
from tests.records import make_record, outcome, times
from tests.reporting.printing import lines_of
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Verdict
from waitbench.reporting.gate import annotations, console, junit, markdown, plain, texts

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


@pytest.fixture
def failing() -> GateVerdict:
    base = rounds(1, 0.5)
    record = record_of(base, scaled(base, system=1.5))
    return verdict_of(record, criteria=["system:10%", "cpu:50%"])


@pytest.fixture
def forgiven() -> GateVerdict:
    record = counted("waiting", wakeups=12.3, steady=0.06)
    return verdict_of(record, criteria=["wakeups:5%", "steady:10%"])


@pytest.fixture
def unclear() -> GateVerdict:
    record = record_of(rounds(1, 0.5, 5), noisy(5))
    return verdict_of(record, criteria=["system:10%"], most_rounds=5)


@pytest.fixture
def many() -> GateVerdict:
    """The defaults, of eight scenarios with long names."""
    names = ("partitioned-long-input", "dynamic-long-input")
    same: dict[str, Ratio] = {
        "wakeups": 1.0,
        "syscalls": 1.0,
        "steady": 1.02,
        "steady_system": [0.7, 1.5] * 5,
    }
    busy = [f"partitioned-long-input-heavy-map-{number}" for number in range(6)]
    records = [
        *(counted(name, **same) for name in names),
        *(working(counted(name, cpu=0.0625)) for name in busy),
    ]
    return gate.conclude(records, DEFAULTS, 10, strict=False)


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


@pytest.fixture
def crashing() -> GateVerdict:
    record = make_record({"base": [times(1, 1, 1)] * 3, "new": []})
    for number in range(3):
        record.add(outcome("new", number, "failed", message="exit code 1"))
    return verdict_of(record, criteria=["cpu:10%", "system:10%"])


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


def test_the_console_shows_each_place_then_remarks_then_the_headline(
    failing: GateVerdict, forgiven: GateVerdict
) -> None:
    other = tuple(replace(judgement, place="[bold]") for judgement in forgiven.judgements)
    both = replace(failing, judgements=(*failing.judgements, *other))
    lines = lines_of(lambda output: console.print_verdict(both, output))
    assert lines[0].split() == ["would", "have"]
    assert lines[1].split() == ["criterion", "ratio", "(bounds)", "rounds", "verdict", "found"]
    assert [line.split()[0] for line in lines[2:8]] == [
        "waiting", "new", "new", "[bold]", "new", "new",
    ]  # fmt: skip
    assert lines[3].split()[:6] == ["new", "system:10%", "1.50", "(1.50–1.50)", "10", "slower"]
    assert lines[3].endswith(" + 10 %")
    assert "12.3 (12.2–12.4)" in lines[6]
    assert lines[-1] == "FAIL: new: system in waiting"


def test_fifteen_judgements_fit_in_eighty_columns_with_the_shared_ones_first(
    many: GateVerdict,
) -> None:
    lines = lines_of(lambda output: console.print_verdict(many, output))
    places = [line for line in lines if line and not line.startswith("new") and "  " not in line]
    assert places[:4] == [
        "2 waiting scenarios together",
        "6 working scenarios together",
        "partitioned-long-input",
        "dynamic-long-input",
    ]
    table = lines[:27]
    assert max(map(len, table)) <= 80
    assert [line.split()[1] for line in table if line.startswith("new")][:3] == [
        "steady:10%", "steady-system:25%", "cpu:10%",
    ]  # fmt: skip
    assert sum(line.startswith("new") for line in table) == 15


def test_long_labels_leave_the_rest_its_room(failing: GateVerdict) -> None:
    long = tuple(replace(one, label="a-branch-with-a-long-name") for one in failing.judgements)
    lines = lines_of(
        lambda output: console.print_verdict(replace(failing, judgements=long), output)
    )
    assert lines[3].startswith("a-branch-w…-long-name ")
    assert "1.50 (1.50–1.50)" in lines[3]


def test_markdown_has_a_row_a_judgement_and_the_errors(failing: GateVerdict) -> None:
    lines = markdown.render(failing).splitlines()
    assert lines[0] == "### FAIL: new: system in waiting"
    assert lines[2] == (
        "| scenario | revision | criterion | ratio (bounds) | rounds | verdict | would have found |"
    )
    assert lines[4].startswith("| waiting | new | system:10% | 1.50 (")
    assert lines[4].endswith(" | 10 | **slower** | + 10 % |")
    assert " | 10 | same | + " in lines[5]
    assert lines[-1].startswith(
        "Lower bounds hold for all 2 hypotheses and all looks together, upper ones for all looks, "
        "each with 5% error."
    )


def test_markdown_lists_the_remarks_as_text(forgiven: GateVerdict) -> None:
    hostile = replace(forgiven, unsupported=("a|b <i> in waiting",))
    text = markdown.render(hostile)
    assert "\n* new in waiting: wake-ups while waiting rose × 12.3, but" in text
    assert "\n* a\\|b &lt;i> in waiting: not supported, so not judged." in text


def test_junit_has_a_failure_for_each_failing_judgement(failing: GateVerdict) -> None:
    suite = ElementTree.fromstring(junit.render(failing))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    failed, passed = suite.iter("testcase")
    assert (failed.get("name"), failed.get("classname")) == ("new system:10%", "waiting")
    failure = failed.find("failure")
    assert failure is not None
    assert str(failure.get("message")).endswith(": slower")
    assert str(passed.findtext("system-out")).endswith(": same")
    assert passed.find("failure") is None


def test_junit_skips_what_stayed_open_unless_that_fails(unclear: GateVerdict) -> None:
    suite = ElementTree.fromstring(junit.render(unclear))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert suite.find("testcase/skipped") is not None
    strict = ElementTree.fromstring(junit.render(replace(unclear, strict=True)))
    assert (strict.get("failures"), strict.get("skipped")) == ("1", "0")


def test_annotations_have_the_level_of_what_happened(
    failing: GateVerdict, forgiven: GateVerdict, unclear: GateVerdict
) -> None:
    lines = [annotations.render(verdict) for verdict in (failing, forgiven, unclear)]
    starts = [line.split(" ")[0] for found in lines for line in found]
    assert starts == ["::error", "::warning", "::notice"]
    assert lines[0][0].startswith("::error title=system in waiting::new: 1.50 (")


def test_annotations_escape_what_would_end_them(failing: GateVerdict) -> None:
    judgement = replace(failing.judgements[0], place="a:b,c%", label="x\ny\r100%:,")
    (line,) = annotations.render(replace(failing, judgements=(judgement,)))
    assert line.startswith("::error title=system in a%3Ab%2Cc%25::x%0Ay%0D100%25:,: ")


def test_json_has_the_documented_keys_and_no_others(failing: GateVerdict) -> None:
    data = json.loads(json.dumps(plain.plain(failing)))
    documented = DOCUMENTED.read_text("utf-8")
    for key in (*data, *data["judgements"][0]):
        assert f"`{key}`" in documented, key
    assert list(data) == [
        "schema_version", "passed", "headline", "error", "questions", "max_rounds", "strict",
        "disturbed_runs", "disturbed_rounds", "open", "not_measured", "unsupported", "left_out",
        "judgements", "remarks",
    ]  # fmt: skip


def test_json_holds_what_was_judged(failing: GateVerdict, forgiven: GateVerdict) -> None:
    data = plain.plain(
        replace(failing, disturbed_runs=2, unsupported=("new in other",), left_out=("none",))
    )
    assert (data["schema_version"], data["passed"], data["error"]) == (2, False, 0.05)
    assert (data["questions"], data["max_rounds"], data["strict"]) == (2, 10, False)
    assert (data["disturbed_runs"], data["unsupported"]) == (2, ["new in other"])
    assert (data["open"], data["left_out"]) == (0, ["none"])
    assert data["headline"] == texts.headline(failing)
    assert len(data["remarks"]) == 3
    first, second = data["judgements"]
    assert (first["scenario"], first["scenarios"]) == ("waiting", ["waiting"])
    assert (first["revision"], first["metric"]) == ("new", "system")
    assert (first["criterion"], first["margin"], first["floor"]) == ("system:10%", 0.1, 0)
    assert (first["unit"], first["alone"], first["together"]) == ("second", False, False)
    assert (first["verdict"], first["fails"], first["open"]) == ("slower", True, False)
    assert (first["cost"], first["cost_fell"], first["given_up"]) == ("cpu", False, False)
    assert (second["verdict"], second["fails"], second["cost"]) == ("same", False, None)
    judgement = failing.judgements[0]
    for name in ("low", "ratio", "high", "rounds", "supported_margin", "would_have_found"):
        assert first[name] == getattr(judgement, name)
    data = plain.plain(forgiven)
    assert data["passed"] is True
    rose = data["judgements"][0]
    assert (rose["cost"], rose["cost_fell"], rose["fails"]) == ("steady", True, False)
    assert rose["cost_ratio"] == forgiven.judgements[0].cost_ratio


def test_json_says_what_is_open_and_what_is_judged_together(
    unclear: GateVerdict, many: GateVerdict
) -> None:
    data = plain.plain(unclear)
    assert (data["open"], data["judgements"][0]["open"]) == (1, True)
    pooled = plain.plain(many)["judgements"][0]
    assert pooled["scenario"] == "2 waiting scenarios together"
    assert pooled["scenarios"] == ["partitioned-long-input", "dynamic-long-input"]
    assert (pooled["criterion"], pooled["together"]) == ("steady:10%,together", True)
