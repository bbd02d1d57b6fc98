"""Findings of a gate -> ``verdict.json``, ``.md`` and ``.xml``."""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import msgspec

from waitbench.analysis import results
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.results import Note
from waitbench.analysis.rule import ALPHA
from waitbench.reporting import forest, markdown, notes
from waitbench.reporting.answer import Findings, answer, details
from waitbench.reporting.summary import BROKEN
from waitbench.system.streams import printable

SCHEMA_VERSION = 6
"""Of ``verdict.json``."""
_FAILS = "fails"
_ERRORS = ("failed-runs", "lost")
"""The kinds of notes besides those of answers that keep a gate from a pass."""
_EXPLANATION = (
    "Lower bounds hold for all questions and all looks together, upper ones for all looks, each "
    f"with {ALPHA * 100:g} % error. With a floor, a ratio is to the most that is allowed."
)


def plain(found: Findings, verdict: GateVerdict) -> dict[str, Any]:
    """Everything that is known, for ``verdict.json`` and ``--json``; see docs/verdict.md."""
    return {
        "schema_version": SCHEMA_VERSION,
        "outcome": verdict.outcome.value,
        "exit_code": int(verdict.exit_code),
        "error": ALPHA,
        "inconclusive": "pass" if verdict.inconclusive_passes else "error",
        "judgements": results.plain(found.judgements or ()),
        "notes": msgspec.to_builtins(found.notes),
    }


def junit(found: Findings, verdict: GateVerdict) -> str:
    """JUnit's XML: a test case for each answer, and for whatever else keeps it from a pass.

    Failures and errors are there if and only if the exit code is not 0; what is inconclusive is an
    error, or skipped where it is to pass.
    """
    is_passed_over = verdict.inconclusive_passes or verdict.failures
    tags = {"?": "skipped" if is_passed_over else "error", BROKEN: "error"}
    suite = ElementTree.Element("testsuite", name="cpu-usage")
    for place, name, note in _cases(found):
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
        element.attrib.update({name: printable(text) for name, text in element.items()})
        element.text = element.text and printable(element.text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cases(found: Findings) -> Iterator[tuple[str, str, Note]]:
    """All that was asked with what is said of it, and what else keeps it from a pass."""
    said = {(one.scenario, one.revision, one.criterion): one for one in found.notes}
    for one in found.judgements or ():
        kind = _FAILS if one.fails else ""
        note = Note(kind=kind, level=forest.mark_of(one), text=notes.sentence(one))
        beside = said.get((one.scenario, one.revision, one.criterion), note)
        if beside.kind == notes.OPEN:
            # It has no figures, and may be about several.
            beside = msgspec.structs.replace(beside, text=f"{note.text}. {beside.text}")
        yield one.scenario, f"{one.revision} {one.criterion}", beside
    others = [one for one in found.notes if one.kind in _ERRORS]
    if not (found.judgements or others):
        others = [msgspec.structs.replace(found.notes[0], level=BROKEN)]
    for note in others:
        yield note.scenario or "cpu-usage", f"{note.revision} {note.kind}".strip(), note


def rendered(found: Findings) -> str:
    """Markdown: what a reviewer reads first, and every answer folded."""
    answers = f"{markdown.render_table(details(found))}\n{_EXPLANATION}"
    folded = f"<details>\n<summary>All answers</summary>\n\n{answers}\n\n</details>\n"
    return f"{markdown.render_answer(answer(found))}\n{folded}"
