"""Prints reports, tables and sentences on a console."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from textwrap import wrap
from typing import IO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from waitbench.analysis.results import Note
from waitbench.model.errors import sanitize
from waitbench.reporting.document import Cell, Heading, Report, Table, TextCell, text_of
from waitbench.reporting.drawing import MARK_STYLES
from waitbench.reporting.notes import HEADLINES

_GAP = 2
"""The space between two columns."""
_LEAST_NAME_WIDTH = 12
"""The least width to which a column of names is folded."""
_Column = tuple[Heading, int, int]
"""A heading, the width of its column, and the space before that."""


def make_console(
    *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
) -> Console:
    """A console on stdout, or on another stream.

    Names and messages come from files and from the code under test: brackets in them are not
    markup, colons not emoji, and control characters not commands to the terminal.
    """
    return _TextConsole(
        stderr=stderr, file=file, width=width, highlight=False, markup=False, emoji=False
    )


class _TextConsole(Console):
    """Replaces control characters in everything that is printed."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            # Rich's own commands to the terminal, such as to move up a line, are in `control`.
            is_text = not segment.control
            yield Segment(sanitize(segment.text), segment.style) if is_text else segment


def print_prose(text: str, console: Console, *, first: str | Text = "", style: str = "") -> None:
    """Prints sentences after ``first``, whose width indents further lines. Breaks no word."""
    prefix = first if isinstance(first, Text) else Text(first, style)
    indent = prefix.cell_len
    for paragraph in text.split("\n"):
        width = max(1, console.width - indent)
        for line in wrap(paragraph, width, break_long_words=False, break_on_hyphens=False):
            console.print(Text.assemble(prefix, (line, style)), soft_wrap=True)
            prefix = Text(" " * indent)


def print_report(report: Report, console: Console) -> None:
    title = " · ".join((report.title, *filter(None, report.facts)))
    first = Text.assemble((" RESULT ", "bold reverse"), " " * _GAP)
    print_prose(title, console, first=first, style="bold")
    headlines = [note for note in report.notes if note.kind in HEADLINES]
    for note in headlines:
        _print_note(note, console, "bold ")
    for table in report.tables:
        if table.rows:
            console.print()
            print_cells(table, console)
    others = [note for note in report.notes if note not in headlines]
    if others:
        console.print()
    for note in others:
        _print_note(note, console)
    if report.links:
        console.print()
    width = max((len(name) for name, _ in report.links), default=0) + _GAP
    for name, link in report.links:
        # Never wrapped, so that it can be copied.
        console.print(f"{name.ljust(width)}{link}", soft_wrap=True)


def _print_note(note: Note, console: Console, style: str = "") -> None:
    first = f"{note.level} " if note.level else ""
    style = f"{style}{MARK_STYLES.get(note.level, '')}".strip()
    print_prose(note.text, console, first=first, style=style)


def print_tables(tables: Iterable[Table], console: Console) -> None:
    for table in tables:
        console.print(Text(table.title, style="bold"))
        print_cells(table, console)
        for note in table.notes:
            print_prose(note, console)
        console.print()


def print_cells(table: Table, console: Console) -> None:
    """Prints headings and rows. If they are too wide, columns that may give way are left out.

    If they are still too wide, names are folded, but never figures.
    """
    table = table.as_text
    headings, gaps = table.headings, _gaps(table.headings)
    widths = _widths(table, gaps)
    optional = [heading for heading in headings if heading.is_optional]
    if sum(widths) + sum(gaps) > console.width and optional:
        print_cells(table.without(optional), console)
        return
    names = [place for place, it in enumerate(headings) if it.is_left]
    while sum(widths) + sum(gaps) > console.width and any(
        widths[it] > _LEAST_NAME_WIDTH for it in names
    ):
        widths[max(names, key=widths.__getitem__)] -= 1
    columns = [*zip(headings, widths, gaps, strict=True)]
    line, end = "", 0
    for group, members in groupby(columns, lambda column: column[0].group):
        # The name of a group is aligned with the right end of its last column.
        end += sum(width + gap for _, width, gap in members)
        line += group.rjust(end - len(line)) if group else ""
    if line:
        console.print(Text(line, style="bold"), crop=False)
    _print_rows(columns, [[Text(it.text, style="bold") for it in headings]], console)
    for group, rows in table.grouped_rows.items():
        if group:
            # On a separate line, as names and figures fill 80 columns.
            console.print(Text(group, style="bold"), soft_wrap=True)
        _print_rows(columns, (map(_text, row) for row in rows), console)


def _gaps(headings: Sequence[Heading]) -> list[int]:
    """The space before each column: less between columns of one group."""
    return [0] * bool(headings) + [
        1 if right.group and left.group == right.group else _GAP
        for left, right in pairwise(headings)
    ]


def _widths(table: Table, gaps: Sequence[int]) -> list[int]:
    widths = [
        max(cell_len(line) for text in texts for line in text.split("\n"))
        for heading, (_, cells) in zip(table.headings, table.columns, strict=True)
        for texts in [(heading.text, *(_text(cell).plain for cell in cells))]
    ]
    for group, members in groupby(range(len(widths)), lambda place: table.headings[place].group):
        places = [*members]
        width = sum(widths[place] + gaps[place] for place in places)
        widths[places[-1]] += max(0, cell_len(group) + _GAP - width)
    return widths


def _text(cell: Cell) -> Text:
    if isinstance(cell, TextCell):
        return Text(cell.short or text_of(cell), style=cell.style)
    return Text(text_of(cell))


def _print_rows(
    columns: Sequence[_Column], rows: Iterable[Iterable[Text]], console: Console
) -> None:
    # A line too wide for the terminal wraps there: nothing is cropped.
    total = sum(width + gap for _, width, gap in columns)
    grid = RichTable(box=None, padding=0, pad_edge=False, show_header=False, width=total)
    for heading, width, gap in columns:
        justify: JustifyMethod = "left" if heading.is_left else "right"
        grid.add_column(width=width + gap, justify=justify, overflow="fold")
    for row in rows:
        cells = zip(row, columns, strict=True)
        grid.add_row(*(Padding(text, (0, 0, 0, gap)) for text, (*_, gap) in cells))
    console.print(grid, crop=False)
