"""Findings of a gate -> the files of its verdict, which ``FORMATS`` lists."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import msgspec

from waitbench.analysis import results
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.results import Note
from waitbench.analysis.rule import ALPHA
from waitbench.model.errors import sanitize
from waitbench.reporting import forest, markdown, notes
from waitbench.reporting.document import Table
from waitbench.reporting.drawing import BROKEN
from waitbench.reporting.findings import Findings, details, summarize
from waitbench.store import formats

VERDICT_NAME = "verdict"
SCHEMA_VERSION = 7
_FAILS = "fails"
_ERRORS = ("failed-runs", "lost")
"""Kinds of notes that keep a gate from a pass without a question."""
_EXPLANATION = (
    "Lower bounds hold for all questions and interim analyses together, upper ones for all "
    "analyses, each with {:g} % error. With an allowance, a ratio is to the most that "
    "is allowed."
)


def as_json(findings: Findings, verdict: GateVerdict) -> dict[str, Any]:
    """The content of ``verdict.json`` and ``--json``; see docs/verdict.md."""
    return {
        "schema_version": SCHEMA_VERSION,
        "outcome": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "error": verdict.rule.alpha,
        "inconclusive": "pass" if verdict.inconclusive_passes else "error",
        "judgements": results.as_json(findings.judgements),
        "notes": msgspec.to_builtins(findings.notes),
    }


def junit(findings: Findings, verdict: GateVerdict) -> str:
    """JUnit's XML: a test case for each answer, and for each other note that prevents a pass.

    It has failures or errors if and only if the exit code is not 0; an inconclusive answer is an
    error, or skipped where it passes.
    """
    is_passed_over = verdict.inconclusive_passes or verdict.failures
    tags = {"?": "skipped" if is_passed_over else "error", BROKEN: "error"}
    suite = ElementTree.Element("testsuite", name="cpu-usage")
    for place, name, note in _cases(findings):
        case = ElementTree.SubElement(suite, "testcase", classname=place, name=name)
        tag = "failure" if note.kind == _FAILS else tags.get(note.level)
        if tag:
            ElementTree.SubElement(case, tag, message=note.text)
        else:
            ElementTree.SubElement(case, "system-out").text = note.text
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    # XML has no way to write control characters.
    for element in suite.iter():
        element.attrib.update({name: sanitize(text) for name, text in element.items()})
        element.text = element.text and sanitize(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cases(findings: Findings) -> Iterator[tuple[str, str, Note]]:
    known = {(it.scenario, it.revision, it.criterion): it for it in findings.notes}
    for judgement in findings.judgements:
        place, question = judgement.scenario, (judgement.revision, str(judgement.criterion))
        kind, level = _FAILS if judgement.fails else "", forest.mark_of(judgement)
        answer = Note(kind=kind, level=level, text=notes.sentence(judgement))
        note = known.get((place, *question), answer)
        if note.kind == notes.OPEN:
            # It has no figures, and may be about several questions.
            note = msgspec.structs.replace(note, text=f"{answer.text}. {note.text}")
        yield place, " ".join(question), note
    others = [note for note in findings.notes if note.kind in _ERRORS]
    if not (findings.judgements or others):
        others = [msgspec.structs.replace(findings.notes[0], level=BROKEN)]
    for note in others:
        yield note.scenario or "cpu-usage", f"{note.revision} {note.kind}".strip(), note


def rendered(findings: Findings) -> str:
    """Markdown: the answer for a reviewer, and all questions folded."""
    alpha = findings.verdict.rule.alpha if findings.verdict else ALPHA
    explanation = _EXPLANATION.format(alpha * 100)
    answers = f"{markdown.render_table(details(findings))}\n{explanation}"
    folded = f"<details>\n<summary>All answers</summary>\n\n{answers}\n\n</details>\n"
    return f"{markdown.render_report(summarize(findings))}\n{folded}"


FORMATS: dict[str, Callable[[Findings, GateVerdict, Sequence[Table]], str]] = {
    "json": lambda known, verdict, _: formats.encode(VERDICT_NAME, as_json(known, verdict)),
    "xml": lambda known, verdict, _: junit(known, verdict),
    "md": lambda known, _, more: "\n".join((rendered(known), *map(markdown.render_table, more))),
}
"""By suffix. Only Markdown has the tables that are no part of the verdict."""
