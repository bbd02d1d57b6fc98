"""The gate's verdict in each of its forms."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from msgspec import structs

from tests.gate_runs import (
    counted,
    crashing,
    failing,
    forgiven,
    record_of,
    rounds,
    scaled,
    unclear,
    verdict_of,
)  # fmt: skip
from tests.records import make_record
from tests.reporting.made_up import many
from waitbench.analysis import statistics
from waitbench.analysis.gate import FailedRuns, GateVerdict
from waitbench.model.errors import sanitize
from waitbench.model.verdicts import GateStatus
from waitbench.reporting.console import make_console, print_report
from waitbench.reporting.document import Contribution, Heading, Table
from waitbench.reporting.findings import findings, summarize
from waitbench.reporting.gate_formats import as_json, junit, render_markdown
from waitbench.reporting.markdown import render_report, render_table

DOCUMENTED = Path(__file__).parents[2] / "docs" / "verdict.md"


FAILED = FailedRuns(label="new", scenario="waiting", count=2, message="exit code 1")


def without_rounds() -> GateVerdict:
    return verdict_of(make_record({"base": [], "new": []}), criteria=["cpu:10%"])


@pytest.mark.parametrize("made", [failing, forgiven, unclear, crashing, many, without_rounds])
def test_every_form_agrees_with_the_exit_code(made: Callable[[], GateVerdict]) -> None:
    base = made()
    changed = [
        base,
        replace(base, inconclusive_passes=True),
        replace(base, failed_runs=(FAILED,)),
        replace(base, not_asked=(("new in waiting", "lost"),)),
        replace(base, judgements=()),
    ]
    for verdict in changed:
        passes, outcome = verdict.exit_code == 0, verdict.outcome
        all_findings = findings((), verdict)
        data = as_json(all_findings, verdict)
        assert (data["outcome"], data["exit_code"]) == (outcome.value, int(verdict.exit_code))
        suite = ElementTree.fromstring(junit(all_findings, verdict))
        bad = int(suite.get("failures") or 0) + int(suite.get("errors") or 0)
        assert bool(bad) is not passes
        assert (suite.get("failures") == "0") is (outcome is not GateStatus.FAIL)
        first = render_markdown(all_findings).splitlines()[0]
        assert first.startswith("### ")
        assert f" {outcome.value.upper()}: " in first


def test_what_is_no_answer_is_folded_and_the_next_step_follows() -> None:
    base = rounds(1, 0.5)
    record = record_of(base, scaled(base, 2.0, 2.0))
    record.context = structs.replace(record.context, argv=("compare", "a", "b", "--gate"))
    verdict = verdict_of(record, criteria=["system:10%", "real:10%"])
    explaining = [Contribution(explains=("--full", "is longer"))]
    known = findings([statistics.compare(record)], verdict, contributions=explaining)
    more = Table("further", [(Heading("x"), ["1"])])
    answer, _, folded = render_markdown(known, [more]).partition("<details>")
    assert answer.rstrip().endswith("\n* Next: --full: is longer")
    assert folded.count("</details>") == 1
    for text, where in (
        ("| ✗ system time", answer),
        ("✓ real time", folded),
        ("**further**", folded),
    ):
        assert text in where
        assert (text in answer) is (where is answer)
    (failure,) = ElementTree.fromstring(junit(known, verdict)).iter("failure")
    assert str(failure.text).splitlines() == [failure.get("message"), "Next: --full: is longer"]


class GitLabTest(NamedTuple):
    """A test as GitLab shows it: https://docs.gitlab.com/ci/testing/unit_test_reports/."""

    suite: str
    name: str
    seconds: float
    status: str
    output: str


def gitlab_tests(xml: str) -> list[GitLabTest]:
    """Reads a report as GitLab does, which ignores the attributes of failures and of suites."""
    root = ElementTree.fromstring(xml)
    assert root.tag in ("testsuite", "testsuites")
    tests = []
    for case in root.iter("testcase"):
        bad = next((it for tag in ("failure", "error", "skipped") for it in case.iter(tag)), None)
        status, output = ("success", "") if bad is None else (bad.tag, bad.text or "")
        seconds = float(case.get("time", "nan"))
        tests.append(
            GitLabTest(case.attrib["classname"], case.attrib["name"], seconds, status, output)
        )
    return tests


def asked_twice() -> GateVerdict:
    """Wake-ups rose, and the cost that they explain fell: one of two questions about them fails."""
    record = counted("waiting", wakeups=12.3, idle=0.06)
    return verdict_of(record, criteria=["wakeups:5%", "wakeups:5%,alone", "idle:10%,each"])


@pytest.mark.parametrize("made", [failing, forgiven, unclear, crashing, many, asked_twice])
def test_gitlab_shows_each_question_once_and_the_reason_of_each_failure(
    made: Callable[[], GateVerdict],
) -> None:
    verdict = made()
    all_findings = findings((), verdict)
    tests = gitlab_tests(junit(all_findings, verdict))
    # Of two tests with one name, GitLab drops the second.
    assert len({(test.suite, test.name) for test in tests}) == len(tests) > 0
    for test in tests:
        assert bool(test.output.strip()) is (test.status != "success"), test
        assert test.suite
        assert test.name
        assert test.seconds >= 0
    failed = [test.output for test in tests if test.status == "failure"]
    assert len(failed) == len(verdict.failures)
    for text in failed:
        assert re.search(r"(× more|\+\d).* in .*, allowed \+\d", text), text


def test_the_times_that_gitlab_adds_up_are_those_of_the_runs() -> None:
    record = record_of(rounds(1, 0.5), rounds(2, 1.0))
    verdict = verdict_of(record, criteria=["system:10%", "real:10%"])
    tests = gitlab_tests(junit(findings([statistics.compare(record)], verdict), verdict))
    measured = sum(run.metrics["time_wall_clock"] for run in record.measurements)
    assert sum(test.seconds for test in tests) == pytest.approx(measured, abs=0.1)
    assert measured > 0


def test_json_has_the_documented_keys_and_no_others() -> None:
    verdict = failing()
    data = json.loads(json.dumps(as_json(findings((), verdict), verdict)))
    documented = DOCUMENTED.read_text("utf-8")
    for key in (*data, *data["judgements"][0], *data["notes"][0]):
        assert f"`{key}`" in documented, key
    assert "passed" not in data, "the outcome has four values"


HOSTILE = [
    "`code` **bold** *it* _it_ ~~gone~~ $x$ \\",
    "[a link](http://evil) ![image](x) <http://evil> [ref]: x",
    "http://evil.example www.evil.example @org #12 a@b.example",
    "&#64;org &commat;org &lt;b> <b>x</b> <!-- x -->",
    "a | b\n\n# heading\n- item\n1. item\n> quote\n```\ncode",
    "- item", "1. item", "> quote", "# heading", "--- ", "***", "+ item", "=== ",
    "\x1b[2J\u202eright\x00\ud800\uffff",
    "::error::%0Aoh\n::set-output name=x::y",
    "]]> <![CDATA[ &amp; \" '",
]  # fmt: skip
"""Labels, names of scenarios, and messages of programs."""


def texts_in(rendered: str) -> list[str]:
    """The text of each paragraph, heading and cell; asserts that there is no markup in it."""
    texts = []
    markdown = MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])
    for block in markdown.parse(rendered):
        for part in block.children or ():
            is_ours = part.type in ("strong_open", "strong_close", "html_inline")
            assert part.type in ("text", "text_special", "softbreak") or is_ours, part
            assert part.type != "html_inline" or part.content == "<!-- -->"
        if block.children:
            kinds = ("text", "text_special")
            texts.append("".join(it.content for it in block.children if it.type in kinds))
    return texts


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_is_markup_in_any_form(hostile: str) -> None:
    shown = sanitize(hostile).replace("\n", " ")
    table = Table(hostile, [(Heading(hostile), [hostile])], notes=[hostile], groups=[hostile])
    texts = texts_in(render_table(table))
    assert texts.count(shown.strip()) == 5, texts
    assert not re.search(r"@\w|#\w|http://|www\.", render_table(table))
    failed = FailedRuns(label=hostile, scenario=hostile, count=1, message=hostile)
    verdict = replace(failing(), failed_runs=(failed,))
    found = findings((), verdict)
    markdown = render_report(summarize(found))
    assert any(shown.strip() in text for text in texts_in(markdown.replace("```console", "")))
    suite = ElementTree.fromstring(junit(found, verdict))
    messages = [case.get("message", "") for case in suite.iter("error")]
    assert any(sanitize(hostile) in message for message in messages)
    console = make_console(file=io.StringIO(), width=400)
    print_report(summarize(found), console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().replace("\n", "").isprintable()
