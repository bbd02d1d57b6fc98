"""The formats of a gate's verdict: JSON, JUnit and Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import msgspec

from waitbench.analysis import results
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.results import Note, decisive
from waitbench.analysis.rule import ALPHA
from waitbench.model.errors import ExitCode, sanitize
from waitbench.reporting import forest, markdown, notes
from waitbench.reporting.document import Table
from waitbench.reporting.drawing import FAILURE
from waitbench.reporting.findings import Findings, gate_table, next_step, summarize
from waitbench.reporting.formats import format_count
from waitbench.store import formats

VERDICT_NAME = "verdict"
SCHEMA_VERSION = 7
_FAILS = "fails"
_ERRORS = ("failed-runs", "lost")
"""Kinds of notes that prevent a pass, although they are not about a question."""
_EXPLANATION = (
    "Lower bounds hold for all questions and interim analyses together, upper ones for all "
    "analyses, each with {:g} % error. With an allowance, a ratio is relative to the "
    "largest allowed cost."
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

    The suite has failures or errors if and only if the exit code is not 0. So an inconclusive
    answer is an error, or is skipped if inconclusive answers pass or another answer fails.
    """
    is_skipped = verdict.exit_code is ExitCode.OK or verdict.failures
    tags = {"?": "skipped" if is_skipped else "error", FAILURE: "error"}
    suite = ElementTree.Element("testsuite", name="waitbench")
    advice = f"\nNext: {step}" if (step := next_step(findings)) else ""
    for place, name, note in _cases(findings):
        case = ElementTree.SubElement(suite, "testcase", classname=place, name=name)
        tag = "failure" if note.kind == _FAILS else tags.get(note.level)
        if tag:
            # Some readers show the attribute, some the text.
            ElementTree.SubElement(case, tag, message=note.text).text = f"{note.text}{advice}"
        else:
            ElementTree.SubElement(case, "system-out").text = note.text
    suite.set("tests", str(len(suite)))
    runs = (run for it in findings.comparisons for run in it.record.measurements)
    seconds = sum(run.metrics["time_wall_clock"] for run in runs)
    suite.set("time", f"{seconds:.1f}")
    for case in suite:
        # GitLab adds up the times of cases, and reads no other time.
        case.set("time", f"{seconds / len(suite):.1f}")
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    # XML has no way to write control characters.
    for element in suite.iter():
        element.attrib.update({name: sanitize(text) for name, text in element.items()})
        element.text = element.text and sanitize(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cases(findings: Findings) -> Iterator[tuple[str, str, Note]]:
    """Yields the class, the name and the note of each test case."""
    notes_by_question = {(it.scenario, it.revision, it.criterion): it for it in findings.notes}
    for judgement in findings.judgements:
        place, question = judgement.scenario, (judgement.revision, str(judgement.criterion))
        allowed, criterion = forest.allowed_of(judgement), judgement.criterion
        if not criterion.limit:
            # GitLab shows only one of several cases with the same name.
            allowed += ", alone" * criterion.alone + ", each" * criterion.each
        name = f"{judgement.metric.title}, allowed {allowed} ({judgement.revision})"
        kind, level = _FAILS if judgement.fails else "", forest.mark_of(judgement)
        answer = Note(kind=kind, level=level, text=notes.sentence(judgement))
        note = notes_by_question.get((place, *question), answer)
        if note.kind == notes.OPEN:
            # An open question's note has no figures, and may be about several questions.
            note = msgspec.structs.replace(note, text=f"{answer.text}. {note.text}")
        yield place, name, note
    others = [note for note in findings.notes if note.kind in _ERRORS]
    if not (findings.judgements or others):
        # Without a question, the outcome is the only test case.
        others = [msgspec.structs.replace(findings.notes[0], level=FAILURE)]
    for note in others:
        yield note.scenario or "waitbench", f"{note.revision} {note.kind}".strip(), note


def render_markdown(findings: Findings, more: Sequence[Table] = ()) -> str:
    """The answer, with cautions, other questions and ``more`` tables in a folded part."""
    report = summarize(findings)
    first = [it for it in report.notes if it.kind in notes.HEADLINES or _is_about_answers(it)]
    if step := next_step(findings):
        first.append(Note(kind="next", level="", text=f"Next: {step}"))
    _, others = decisive(findings.judgements)
    further = format_count(len(others), "more question", "more questions")
    tables = [gate_table(findings, others, further)] if others else []
    alpha = findings.verdict.rule.alpha if findings.verdict else ALPHA
    folded = [
        *markdown.render_notes(it for it in report.notes if it not in first),
        "",
        *map(markdown.render_table, (*tables, *more)),
        _EXPLANATION.format(alpha * 100),
    ]
    answer = markdown.render_report(replace(report, notes=first))
    details = "\n".join(folded).strip()
    return f"{answer}\n<details>\n<summary>Details</summary>\n\n{details}\n\n</details>\n"


def _is_about_answers(note: Note) -> bool:
    return note.level in (FAILURE, "?") or bool(note.criterion)


def texts(findings: Findings, verdict: GateVerdict, more: Sequence[Table]) -> Mapping[str, str]:
    """A verdict in each format, by the suffix of its file. Only Markdown has ``more`` tables."""
    return {
        "json": formats.encode(VERDICT_NAME, as_json(findings, verdict)),
        "xml": junit(findings, verdict),
        "md": render_markdown(findings, more),
    }
