"""A GateVerdict -> the answer of a comparison, and the text of a file.

Files are JSON, JUnit's XML, annotations of GitHub and Markdown. The gate has the last word of a
comparison.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from xml.etree import ElementTree

from waitbench.analysis.acceptance import Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.rule import ALPHA
from waitbench.analysis.verdicts import GateOutcome, Verdict
from waitbench.reporting import markdown
from waitbench.reporting.answer import WHY_PURPOSE, again
from waitbench.reporting.document import Answer, Command, Headline, Table
from waitbench.reporting.formats import format_count
from waitbench.reporting.gate import (
    ACCEPTED,
    OUTCOME_STYLES,
    document,
    headline,
    ratio_text,
    reasons,
    remarks,
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
    GateOutcome.NOT_MEASURED: "✗",
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


def junit(verdict: GateVerdict) -> str:
    """JUnit's XML: a test case for each judgement, and for whatever else keeps it from a pass.

    Failures and errors are there if and only if the exit code is not 0; what is inconclusive is an
    error, or skipped where it is to pass.
    """
    suite = ElementTree.Element("testsuite", name="cpu-usage")
    for judgement in verdict.judgements:
        name = f"{judgement.label} {judgement.criterion}"
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.place, name=name)
        text = f"{ratio_text(judgement)}: {_word(judgement)}"
        if judgement.fails:
            ElementTree.SubElement(case, "failure", message=text)
        elif judgement.is_unmeasured:
            reason = judgement.why_given_up or ""
            ElementTree.SubElement(case, "error", message=f"not measured: {reason}")
        elif judgement.is_open:
            is_error = not (verdict.inconclusive_passes or verdict.failures)
            ElementTree.SubElement(case, "error" if is_error else "skipped", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    others = [
        (one.scenario, f"{one.label} runs", f"{one.count} failed: {one.message}")
        for one in verdict.failed_runs
    ]
    others += [("capabilities", place, "not supported any more") for place in verdict.lost]
    if not verdict.judgements and not others:
        others.append(("cpu-usage", "questions", headline(verdict)))
    for place, name, text in others:
        case = ElementTree.SubElement(suite, "testcase", classname=place, name=name)
        ElementTree.SubElement(case, "error", message=text)
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
    said = [
        _line(
            level,
            f"{judgement.criterion.metric.name} in {judgement.place}",
            f"{judgement.label}: {ratio_text(judgement)}: {_word(judgement)}",
        )
        for judgement in verdict.judgements
        if (level := _level(judgement))
    ]
    said += [
        _line("error", f"runs of {one.scenario}", f"{one.label}: {one.count} failed: {one.message}")
        for one in verdict.failed_runs
    ]
    return said + [_line("error", place, "not supported any more") for place in verdict.lost]


def _level(judgement: Judgement) -> str | None:
    if judgement.fails or judgement.is_unmeasured:
        return "error"
    warns = judgement.is_open or judgement.accepted or judgement.verdict is Verdict.EXCUSED
    return "warning" if warns else None


def _word(judgement: Judgement) -> str:
    if judgement.accepted is None:
        return judgement.verdict.value
    return f"{ACCEPTED} until {judgement.accepted.until}, {judgement.accepted.reason}"


def _line(level: str, title: str, text: str) -> str:
    return f"::{level} title={_escape_property(title)}::{_escape(text)}"


def _escape(text: str) -> str:
    """As GitHub's own toolkit does for the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """As GitHub's own toolkit does for the properties of a workflow command."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _markdown(verdict: GateVerdict) -> str:
    """What a reviewer reads first, and everything else folded."""
    answers = format_count(len(verdict.judgements), "answer", "answers")
    folded = markdown.fold(
        f"All {answers}, with bounds and remarks", markdown.body(document(verdict))
    )
    return f"{markdown.render(summary(verdict))}\n{folded}"


FORMATS: Mapping[str, Callable[[GateVerdict], str]] = {
    "annotations": lambda verdict: "".join(f"{line}\n" for line in annotations(verdict)),
    "json": lambda verdict: json.dumps(plain(verdict), indent=1) + "\n",
    "junit": junit,
    "markdown": _markdown,
}
"""What renders a verdict as the text of a file, by the name that users type."""


def details(verdict: GateVerdict) -> Table:
    """All that was asked, for a console, with the remarks below it."""
    title = f"the gate · {format_count(len(verdict.judgements), 'question', 'questions')}"
    return replace(table(verdict), title=title, notes=tuple(remarks(verdict)))


def answer(verdict: GateVerdict, comparison: Answer) -> Answer:
    """What the gate says of a comparison, in the place of what each of its ratios says."""
    shown = comparison.table
    if shown is not None and comparison.headlines:
        rows = tuple(row[:-1] for row in shown.rows)
        shown = replace(shown, header=shown.header[:-1], rows=rows)
    headlines = [
        Headline(
            text=headline(verdict),
            style=OUTCOME_STYLES[verdict.outcome],
            mark=_MARKS[verdict.outcome],
        )
    ]
    return replace(comparison, headlines=tuple(headlines), table=shown)


def next_step(verdict: GateVerdict, argv: Sequence[str]) -> Command | None:
    """What is best done now; ``None`` where there is nothing to be done, or nobody knows what."""
    if list(argv[:1]) != ["compare"]:
        return None
    if verdict.failures and "--why" not in argv:
        return Command(again(argv, "--why"), WHY_PURPOSE)
    if verdict.outcome is GateOutcome.INCONCLUSIVE and "--full" not in argv:
        return Command(again(argv, "--full"), "longer runs tell smaller changes apart")
    return None
