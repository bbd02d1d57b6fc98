"""Documents and tables as Markdown: whatever is in them stays text."""

from collections.abc import Sequence

from waitbench.reporting.document import (
    Answer,
    Command,
    Document,
    Quote,
    Table,
    text_of,
)
from waitbench.system.streams import printable


def render(document: Document) -> str:
    """The headline, all blocks, and what they mean, for a job's summary or a comment."""
    return f"### {_escape(document.headline)}\n{body(document)}"


def body(document: Document) -> str:
    """All of a document but its headline."""
    lines: list[str] = []
    for block in document.blocks:
        lines.append("")
        if isinstance(block, Table):
            lines += _table_lines(block)
        elif isinstance(block, Quote):
            lines += [f"> {_escape(line)}  " for line in block.lines]
        elif isinstance(block, Command):
            lines += ["```console", block.text, "```"]
        else:
            lines += [f"* {_escape(sentence)}" for sentence in block.texts]
    if document.explanation:
        lines += ["", document.explanation]
    return "\n".join([*lines, ""])


def fold(title: str, text: str) -> str:
    """Markdown that is unfolded by a click."""
    return f"<details>\n<summary>{_escape(title)}</summary>\n\n{text.strip()}\n\n</details>\n"


def render_answer(answer: Answer) -> str:
    """What a comparison comes to: the headlines, the table, what to be wary of."""
    basis = f" ({_escape(answer.basis)})" if answer.basis else ""
    lines = [f"### {_escape(answer.title)}{basis}", ""]
    for headline in answer.headlines:
        aside = f" ({_escape(headline.aside)})" if headline.aside else ""
        lines.append(f"* **{_escape(f'{headline.mark} {headline.text}'.strip())}**{aside}")
    if answer.table is not None and answer.table.rows:
        lines += ["", *_table_lines(answer.table)]
    said = [*answer.remarks, *(warning.text for warning in answer.warnings)]
    if said:
        lines += ["", *(f"* {_escape(sentence)}" for sentence in said)]
    return "\n".join([*lines, ""])


def render_table(table: Table) -> str:
    """A table with its title and its notes."""
    lines = [f"**{table.title}**", "", *_table_lines(table), "", *table.notes]
    return printable("\n".join(lines)).rstrip() + "\n"


def _table_lines(table: Table) -> list[str]:
    table = table.in_text
    header = [heading.text for heading in table.headings]
    rules = ["---" if heading.is_left else "---:" for heading in table.headings]
    rows = [[_escape(text_of(cell)) for cell in row] for row in table.rows]
    if table.groups:
        header.insert(0, table.group_heading)
        rows = [[_escape(group), *row] for group, row in zip(table.groups, rows, strict=True)]
        rules = ["---"] * len(header)
    return [_line(header), _line(rules), *map(_line, rows)]


def _escape(text: str) -> str:
    """Text that stays text, in a table too."""
    one_line = printable(text).replace("\n", " ")
    return one_line.replace("|", "\\|").replace("<", "&lt;")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
