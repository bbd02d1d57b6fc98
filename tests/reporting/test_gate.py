"""The gate's verdict, wherever it is read."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gate_runs import noisy, record_of, rounds, scaled, verdict_of
from tests.reporting.printing import lines_of
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Verdict
from waitbench.reporting.gate import annotations, console, junit, markdown, plain, texts

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


@pytest.fixture
def failing() -> GateVerdict:
    base = rounds(1, 0.5)
    return verdict_of(record_of(base, scaled(base, system=1.5)), "system:10%", "cpu:50%")


@pytest.fixture
def moved() -> GateVerdict:
    return verdict_of(record_of(rounds(5.2, 0.09), rounds(0.12, 0.39)), "system:10%", "cpu:10%")


@pytest.fixture
def unclear() -> GateVerdict:
    return verdict_of(record_of(rounds(1, 0.5, 5), noisy(5)), "system:10%", most_rounds=5)


def test_the_headline_names_where_it_failed(failing: GateVerdict) -> None:
    assert texts.headline(failing) == "FAIL (system:10%, cpu:50%): new in waiting"


def test_the_headline_counts_what_stayed_unclear(unclear: GateVerdict, moved: GateVerdict) -> None:
    assert texts.headline(unclear) == "PASS (system:10%), 1 of 1 verdicts unclear"
    assert texts.headline(moved) == "PASS (system:10%, cpu:10%)"
    assert texts.headline(replace(unclear, strict=True)) == "FAIL (system:10%): new in waiting"


def test_time_that_moved_is_remarked(moved: GateVerdict) -> None:
    assert texts.remarks(moved) == [
        "new in waiting: CPU time moved from user to system: system time rose, total CPU fell by "
        "more."
    ]


def test_noise_is_remarked_with_the_margin_that_it_supports(unclear: GateVerdict) -> None:
    (judgement,) = unclear.judgements
    assert texts.remarks(unclear) == [
        "new in waiting, system:10%: unclear after 5 rounds: this machine is too noisy for 10% in "
        f"so few; what was measured supports a margin of about {judgement.supported_margin:.0%}. "
        "Add --max-rounds, or --full for longer runs."
    ]
    worst = replace(unclear, judgements=(replace(judgement, high=500.0, low=0.002),))
    assert "supports a margin of none below 1000 %." in texts.remarks(worst)[0]


def test_too_few_rounds_are_remarked() -> None:
    verdict = verdict_of(record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), "cpu:10%")
    assert texts.remarks(verdict) == ["new in waiting, cpu:10%: unclear: too few rounds."]
    assert texts.ratio_text(verdict.judgements[0]) == "–"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1 run was repeated because the machine did something else meanwhile."),
        (3, "3 runs were repeated because the machine did something else meanwhile."),
    ],
)
def test_disturbed_runs_and_what_is_not_supported_are_remarked(
    failing: GateVerdict, count: int, said: str
) -> None:
    verdict = replace(failing, disturbed_runs=count, unsupported=("new in other",))
    assert texts.remarks(verdict) == [said, "new in other: not supported, so not judged."]


def test_a_ratio_is_shown_with_its_bounds(failing: GateVerdict) -> None:
    judgement = replace(failing.judgements[0], ratio=1.2345, low=0.987, high=1.5678)
    assert texts.ratio_text(judgement) == "1.23 (0.99–1.57)"
    assert texts.ratio_text(replace(judgement, high=1e6)) == "1.23 (0.99–> 1000)"


def test_a_verdict_is_shown_with_what_qualifies_it(
    moved: GateVerdict, unclear: GateVerdict
) -> None:
    assert [texts.verdict_text(judgement) for judgement in moved.judgements] == [
        "moved from user to system",
        "faster",
    ]
    (judgement,) = unclear.judgements
    assert texts.verdict_text(judgement) == "unclear"
    assert texts.verdict_text(replace(judgement, outweighed=True)) == "less than total CPU fell"
    settled = replace(judgement, verdict=Verdict.FASTER, outweighed=True)
    assert texts.verdict_text(settled) == "faster"


def test_the_console_shows_a_table_a_scenario_then_remarks_then_the_headline(
    failing: GateVerdict, moved: GateVerdict
) -> None:
    other = tuple(replace(judgement, scenario="[bold]") for judgement in moved.judgements)
    both = replace(failing, judgements=(*failing.judgements, *other))
    lines = lines_of(lambda output: console.print_verdict(both, output))
    assert [line.split()[0] for line in lines[:6]] == [
        "waiting",
        "new",
        "new",
        "[bold]",
        "new",
        "new",
    ]
    assert lines[1].split() == ["new", "system", "1.5", "(1.5–1.5)", "10", "rounds", "slower"]
    assert lines[4].endswith("10 rounds  moved from user to system")
    assert lines[-1] == "FAIL (system:10%, cpu:50%): new in waiting"


def test_markdown_has_a_row_a_judgement_and_the_error_that_all_share(failing: GateVerdict) -> None:
    lines = markdown.render(failing).splitlines()
    assert lines[0] == "### FAIL (system:10%, cpu:50%): new in waiting"
    assert lines[2] == "| scenario | revision | criterion | ratio (bounds) | rounds | verdict |"
    assert lines[4].startswith("| waiting | new | system:10% | 1.5 (")
    assert lines[4].endswith(" | 10 | **slower** |")
    assert lines[5].endswith(" | 10 | same |")
    assert lines[-1] == "Bounds hold for all 2 hypotheses and all looks together, with 5% error."


def test_markdown_lists_the_remarks_as_text(moved: GateVerdict) -> None:
    hostile = replace(moved, unsupported=("a|b <i> in waiting",))
    text = markdown.render(hostile)
    assert "\n* new in waiting: CPU time moved from user to system" in text
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


def test_junit_skips_what_stayed_unclear_unless_that_fails(unclear: GateVerdict) -> None:
    suite = ElementTree.fromstring(junit.render(unclear))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert suite.find("testcase/skipped") is not None
    strict = ElementTree.fromstring(junit.render(replace(unclear, strict=True)))
    assert (strict.get("failures"), strict.get("skipped")) == ("1", "0")


def test_annotations_have_the_level_of_what_happened(
    failing: GateVerdict, moved: GateVerdict, unclear: GateVerdict
) -> None:
    lines = [annotations.render(verdict) for verdict in (failing, moved, unclear)]
    starts = [line.split(" ")[0] for found in lines for line in found]
    assert starts == ["::error", "::warning", "::notice"]
    assert lines[0][0].startswith("::error title=system in waiting::new: 1.5 (")


def test_annotations_escape_what_would_end_them(failing: GateVerdict) -> None:
    judgement = replace(failing.judgements[0], scenario="a:b,c%", label="x\ny\r100%:,")
    (line,) = annotations.render(replace(failing, judgements=(judgement,)))
    assert line.startswith("::error title=system in a%3Ab%2Cc%25::x%0Ay%0D100%25:,: ")


def test_json_has_the_documented_keys_and_no_others(failing: GateVerdict) -> None:
    data = json.loads(json.dumps(plain.plain(failing)))
    documented = DOCUMENTED.read_text("utf-8")
    for key in (*data, *data["judgements"][0]):
        assert f"`{key}`" in documented, key
    assert list(data) == [
        "schema_version", "passed", "headline", "error", "questions", "max_rounds", "strict",
        "disturbed_runs", "unsupported", "judgements", "remarks",
    ]  # fmt: skip


def test_json_holds_what_was_judged(failing: GateVerdict, moved: GateVerdict) -> None:
    data = plain.plain(replace(failing, disturbed_runs=2, unsupported=("new in other",)))
    assert (data["schema_version"], data["passed"], data["error"]) == (1, False, 0.05)
    assert (data["questions"], data["max_rounds"], data["strict"]) == (2, 10, False)
    assert (data["disturbed_runs"], data["unsupported"]) == (2, ["new in other"])
    assert data["headline"] == texts.headline(failing)
    assert len(data["remarks"]) == 2
    first, second = data["judgements"]
    assert (first["scenario"], first["revision"], first["metric"]) == ("waiting", "new", "system")
    assert (first["margin"], first["floor"], first["unit"]) == (0.1, 0, "second")
    assert (first["verdict"], first["fails"], first["alone"]) == ("slower", True, False)
    assert (second["verdict"], second["fails"]) == ("same", False)
    assert (first["rounds"], first["moved_to_system"], first["outweighed"]) == (10, False, False)
    judgement = failing.judgements[0]
    assert (first["low"], first["ratio"], first["high"]) == (
        judgement.low,
        judgement.ratio,
        judgement.high,
    )
    assert first["supported_margin"] == judgement.supported_margin
    data = plain.plain(moved)
    assert data["passed"] is True
    assert data["judgements"][0]["moved_to_system"] is True
