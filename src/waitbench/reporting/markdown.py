"""Renders reports and tables as Markdown, with all content escaped."""

import re
from collections.abc import Iterable, Sequence

from waitbench.analysis.results import Note
from waitbench.model.errors import sanitize
from waitbench.reporting.document import Report, Table, text_of
from waitbench.reporting.notes import HEADLINES, OUTCOME

_MARKUP = re.compile(
    r"[\\`*\[\]~|$]|(?<!\w)_|_(?!\w)|^>|^[-+](?=\s|-*$)|^=(?==*$)|(?<=^\d)[.)](?=\s|$)"
)
_AUTOLINKS = re.compile(r"[@#]|\b(?:https?|ftp)(?=://)|\bwww(?=\.)", re.IGNORECASE)
"""Text that GitHub turns into links and notifications."""


def render_report(report: Report) -> str:
    facts = _escape(" · ".join(report.facts))
    title = f"{_escape(report.title)}{f' ({facts})' if facts else ''}"
    headlines = [note for note in report.notes if note.kind in HEADLINES]
    lines = [f"### {title}", ""]
    if headlines and headlines[0].kind == OUTCOME:
        outcome = headlines.pop(0)
        lines = [f"### {outcome.level} {_escape(outcome.text)}", "", title, ""]
    lines += render_notes(headlines, "**")
    for table in report.tables:
        if table.rows:
            lines += [*([""] if lines[-1] else []), *_table_lines(table), ""]
    lines += render_notes(note for note in report.notes if note.kind not in HEADLINES)
    return "\n".join(lines).rstrip() + "\n"


def render_notes(notes: Iterable[Note], strong: str = "") -> list[str]:
    return [f"* {strong}{_escape(f'{note.level} {note.text}'.strip())}{strong}" for note in notes]


def render_table(table: Table) -> str:
    title = [f"**{_escape(table.title)}**", ""] if table.title else []
    lines = [*title, *_table_lines(table), "", *map(_escape, table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _table_lines(table: Table) -> list[str]:
    table = table.as_text
    header = [_escape(f"{it.group} {it.text}".strip()) for it in table.headings]
    rules = ["---" if heading.is_left else "---:" for heading in table.headings]
    rows = [[_escape(text_of(cell)) for cell in row] for row in table.rows]
    if table.groups:
        header.insert(0, "scenario")
        rows = [[_escape(group), *row] for group, row in zip(table.groups, rows, strict=True)]
        rules.insert(0, "---")
    return [_line(header), _line(rules), *map(_line, rows)]


def _escape(text: str) -> str:
    text = sanitize(text).replace("\n", " ").strip()
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return _AUTOLINKS.sub(r"\g<0><!-- -->", _MARKUP.sub(r"\\\g<0>", text))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
