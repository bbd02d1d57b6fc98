"""A GateVerdict -> the answer of a comparison, and ``verdict.json``, ``.md`` and ``.xml``.

What they say is worded by ``reporting.gate``. The gate has the last word of a comparison.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple
from xml.etree import ElementTree

from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.rule import ALPHA
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.reporting import markdown
from waitbench.reporting.answer import WHY_PURPOSE, again
from waitbench.reporting.document import Answer, Command, Headline, Table
from waitbench.reporting.formats import format_count
from waitbench.reporting.gate import (
    OUTCOME_STYLES,
    decided,
    document,
    failed_text,
    headline,
    lost_text,
    ratio_text,
    reasons,
    remarks,
    said,
    sentence,
    summary,
    table,
)
from waitbench.system.streams import printable

SCHEMA_VERSION = 4
"""Of ``verdict.json``."""
_MARKS = {
    GateOutcome.PASS: "✓",
    GateOutcome.FAIL: "✗",
    GateOutcome.INCONCLUSIVE: "?",
    GateOutcome.NOT_MEASURED: "!",
}


def plain(verdict: GateVerdict) -> dict[str, Any]:
    """Everything that is known, for ``verdict.json`` and ``--json``; see docs/verdict.md."""
    return {
        "schema_version": SCHEMA_VERSION,
        "outcome": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "reasons": reasons(verdict),
        "headline": headline(verdict),
        "error": ALPHA,
        "questions": verdict.questions,
        "max_rounds": verdict.most_rounds,
        "inconclusive": "pass" if verdict.inconclusive_passes else "error",
        "disturbed_runs": verdict.disturbed_runs,
        "disturbed_rounds": verdict.disturbed_rounds,
        "rounds": verdict.rounds,
        "foreign_cores": verdict.foreign_cores,
        "steal_share": verdict.steal_share,
        "failed_runs": [asdict(one) for one in verdict.failed_runs],
        "lost": list(verdict.lost),
        "open": len(verdict.open),
        "not_measured": len(verdict.not_measured),
        "unsupported": list(verdict.unsupported),
        "left_out": list(verdict.left_out),
        "accepted": [_accepted(one, verdict) for one in verdict.acceptances],
        "judgements": [_plain(judgement) for judgement in verdict.judgements],
        "remarks": remarks(verdict),
    }


def _plain(judgement: Judgement) -> dict[str, Any]:
    return {
        "scenario": judgement.place,
        "scenarios": list(judgement.scenarios),
        "revision": judgement.label,
        "metric": judgement.criterion.metric.name,
        "criterion": str(judgement.criterion),
        "margin": judgement.criterion.margin,
        "floor": judgement.criterion.floor,
        "unit": judgement.criterion.metric.unit,
        "alone": judgement.criterion.alone,
        "each": judgement.criterion.each,
        "scope": judgement.criterion.scope.value,
        "verdict": judgement.verdict.value,
        "fails": judgement.fails,
        "open": judgement.is_open,
        "why_given_up": judgement.why_given_up,
        "disturbed_rounds": judgement.disturbed,
        "cost": judgement.cost.name if judgement.cost else None,
        "cost_ratio": judgement.cost_ratio,
        "ratio": judgement.ratio,
        "is_of_allowed": bool(judgement.criterion.floor),
        "low": judgement.low,
        "high": judgement.high,
        "means": judgement.means,
        "dear": None if judgement.dear is None else asdict(judgement.dear),
        "by_dear_runs": judgement.by_dear_runs,
        "rounds": judgement.rounds,
    }


def _accepted(acceptance: Acceptance, verdict: GateVerdict) -> dict[str, Any]:
    covered = [one for one in verdict.accepted if one.accepted == acceptance]
    return {
        **asdict(acceptance),
        "judgements": [
            {"revision": one.label, "scenario": one.place, "criterion": str(one.criterion)}
            for one in covered
        ],
    }


class _Fact(NamedTuple):
    """One answer, or whatever else keeps a gate from a pass."""

    level: str
    """One of ``_ANNOTATED``."""
    place: str
    name: str
    text: str


_ANNOTATED = {"failure": "error", "error": "error", "open": "warning", "warning": "warning", "": ""}
"""The level of an annotation, by that of what it is about."""


def _facts(verdict: GateVerdict) -> Iterator[_Fact]:
    """All that was asked, then what gave no answer, in the words of ``reporting.gate``."""
    for one in verdict.judgements:
        text = sentence(one) or f"{one.label}: {ratio_text(one)}: {one.verdict.value}"
        yield _Fact(_level(one), one.place, f"{one.label} {one.criterion}", text)
    for runs in verdict.failed_runs:
        yield _Fact("error", runs.scenario, f"{runs.label} runs", failed_text(runs))
    for place in verdict.lost:
        yield _Fact("error", "capabilities", place, lost_text(place))
    if not (verdict.judgements or verdict.failed_runs or verdict.lost):
        yield _Fact("error", "cpu-usage", "questions", headline(verdict))


def _level(judgement: Judgement) -> str:
    if judgement.fails:
        return "failure"
    if judgement.is_unmeasured:
        return "error"
    if judgement.is_open:
        return "open"
    return "warning" if judgement.accepted or judgement.verdict is Verdict.EXCUSED else ""


def junit(verdict: GateVerdict) -> str:
    """JUnit's XML: a test case for each judgement, and for whatever else keeps it from a pass.

    Failures and errors are there if and only if the exit code is not 0; what is inconclusive is an
    error, or skipped where it is to pass.
    """
    is_passed_over = verdict.inconclusive_passes or verdict.failures
    tags = {
        "failure": "failure",
        "error": "error",
        "open": "skipped" if is_passed_over else "error",
    }
    suite = ElementTree.Element("testsuite", name="cpu-usage")
    for fact in _facts(verdict):
        case = ElementTree.SubElement(suite, "testcase", classname=fact.place, name=fact.name)
        if fact.level in tags:
            ElementTree.SubElement(case, tags[fact.level], message=fact.text)
        else:
            ElementTree.SubElement(case, "system-out").text = fact.text
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    # XML has no way to write control characters.
    for element in suite.iter():
        element.attrib.update({name: printable(text) for name, text in element.items()})
        element.text = element.text and printable(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def annotations(verdict: GateVerdict) -> list[str]:
    """Workflow commands of GitHub Actions, a line for each error and warning."""
    return [
        _line(level, f"{fact.place}: {fact.name}", fact.text)
        for fact in _facts(verdict)
        if (level := _ANNOTATED[fact.level])
    ]


def _line(level: str, title: str, text: str) -> str:
    return f"::{level} title={_escape_property(title)}::{_escape(text)}"


def _escape(text: str) -> str:
    """As GitHub's own toolkit does for the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """As GitHub's own toolkit does for the properties of a workflow command."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def rendered(verdict: GateVerdict) -> str:
    """Markdown: what a reviewer reads first, and everything else folded."""
    answers = format_count(len(verdict.judgements), "answer", "answers")
    folded = markdown.fold(
        f"All {answers}, with bounds and remarks", markdown.body(document(verdict))
    )
    return f"{markdown.render(summary(verdict))}\n{folded}"


def details(verdict: GateVerdict) -> Table:
    """All that was asked, for a console."""
    title = f"the gate · {format_count(len(verdict.judgements), 'question', 'questions')}"
    return replace(table(verdict), title=title)


def answer(verdict: GateVerdict, comparison: Answer, compared: Sequence[Comparison] = ()) -> Answer:
    """What the gate says of a comparison, in the place of what each of its ratios says."""
    shown = Headline(
        text=headline(verdict),
        style=OUTCOME_STYLES[verdict.outcome],
        mark=_MARKS[verdict.outcome],
    )
    return replace(
        comparison,
        headlines=(shown, *(one for one in comparison.headlines if one.is_price)),
        table=decided(verdict, compared),
        remarks=(*comparison.remarks, *said(verdict)),
    )


def next_step(verdict: GateVerdict, argv: Sequence[str]) -> Command | None:
    """What is best done now; ``None`` where there is nothing to be done, or nobody knows what."""
    if list(argv[:1]) != ["compare"]:
        return None
    if verdict.failures and "--why" not in argv:
        return Command(again(argv, "--why"), WHY_PURPOSE)
    if verdict.outcome is GateOutcome.INCONCLUSIVE and "--full" not in argv:
        return Command(again(argv, "--full"), "longer runs tell smaller changes apart")
    return None
