"""Documents on a console, and the console that everything is printed on."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from textwrap import wrap
from typing import IO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from waitbench.analysis.results import Note
from waitbench.reporting.document import (
    Answer,
    Cell,
    Heading,
    Table,
    Word,
    text_of,
)
from waitbench.reporting.notes import HEADLINES
from waitbench.reporting.summary import MARK_STYLES
from waitbench.system.streams import printable

_GAP = 2
_RESULT = " RESULT "
_LEAST = 12
"""So wide a column stays where it is folded."""
_Column = tuple[Heading, int, int]
"""A heading, the width of its column, and the space before it."""


def make_console(
    *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
) -> Console:
    """A console on stdout, or on another stream.

    Names and messages come out of files and out of the code under test: brackets in them are no
    markup, colons no pictures, and control characters no commands to the terminal.
    """
    return _TextConsole(
        stderr=stderr, file=file, width=width, highlight=False, markup=False, emoji=False
    )


class _TextConsole(Console):
    """Replaces control characters where everything passes that is printed, wherever it is from."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            # What rich itself tells the terminal, such as to move up a line, is marked as such.
            is_text = not segment.control
            yield Segment(printable(segment.text), segment.style) if is_text else segment


def print_prose(text: str, console: Console, *, first: str = "", style: str = "") -> None:
    """Prints a sentence; what does not fit goes on below, after ``first``. No word is broken."""
    _print_hanging(first, _lines(text, console.width - cell_len(first)), console, style=style)


def print_answer(answer: Answer, console: Console) -> None:
    """Prints what it comes to, below everything else, where the eye ends."""
    basis = f" · {answer.basis}" if answer.basis else ""
    lines = _lines(f"{answer.title}{basis}", console.width - len(_RESULT) - _GAP)
    console.print(Text.assemble((_RESULT, "bold reverse"), " " * _GAP, (lines[0], "bold")))
    _print_hanging(" " * (len(_RESULT) + _GAP), lines[1:], console, style="bold")
    headlines = [note for note in answer.notes if note.kind in HEADLINES]
    for note in headlines:
        _print_note(note, console, "bold ")
    for table in answer.tables:
        if table.rows:
            console.print()
            print_cells(table, console)
    others = [note for note in answer.notes if note not in headlines]
    if others:
        console.print()
    for note in others:
        _print_note(note, console)
    if answer.links:
        console.print()
    width = max((len(name) for name, _ in answer.links), default=0) + _GAP
    for name, link in answer.links:
        # In one piece, however long it is, to be copied.
        console.print(f"{name.ljust(width)}{link}", soft_wrap=True)


def _print_note(note: Note, console: Console, style: str = "") -> None:
    first = f"{note.level} " if note.level else ""
    style = f"{style}{MARK_STYLES.get(note.level, '')}".strip()
    print_prose(note.text, console, first=first, style=style)


def _print_hanging(first: str, lines: Sequence[str], console: Console, *, style: str = "") -> None:
    for number, line in enumerate(lines):
        begin = " " * cell_len(first) if number else first
        console.print(Text(f"{begin}{line}", style=style), soft_wrap=True)


def _lines(text: str, width: int) -> list[str]:
    """Lines of whole words: one that is too long has a line of its own."""
    return [
        line
        for each in text.split("\n")
        for line in wrap(each, max(1, width), break_long_words=False, break_on_hyphens=False)
    ]


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Prints each with its title and its notes."""
    for table in tables:
        console.print(Text(table.title, style="bold"))
        print_cells(table, console)
        for note in table.notes:
            print_prose(note, console)
        console.print()


def print_cells(table: Table, console: Console) -> None:
    """Prints the headings and all rows. Figures are never cropped.

    Columns that give way do so first; then names are folded.
    """
    table = table.without(lambda heading: heading.axis is not None and not heading.axis.characters)
    for level in (1, 2):
        if _total(_widths(table), table.headings) > console.width:
            table = table.without(partial(_gives_way, level=level))
    headings, widths = table.headings, _widths(table)
    names = [place for place, it in enumerate(headings) if it.is_left and not it.axis]
    while _total(widths, headings) > console.width and any(widths[it] > _LEAST for it in names):
        widths[max(names, key=widths.__getitem__)] -= 1
    columns = [*zip(headings, widths, _gaps(headings), strict=True)]
    if any(heading.group for heading in headings):
        console.print(Text(_group_line(columns), style="bold"), crop=False)
    titles = [Word(text=_title(heading), style="bold") for heading in headings]
    console.print(_rich(columns, [titles]), crop=False)
    groups: dict[str, list[tuple[Cell, ...]]] = {}
    for row, group in zip(table.rows, table.groups or [""] * len(table.rows), strict=True):
        groups.setdefault(group, []).append(row)
    for group, rows in groups.items():
        if group:
            # A row of its own: it would not fit beside the rest in 80 columns.
            console.print(Text(group, style="bold"), soft_wrap=True)
        console.print(_rich(columns, rows), crop=False)


def _gives_way(heading: Heading, level: int) -> bool:
    return heading.gives_way == level


def _widths(table: Table) -> list[int]:
    """How wide each column is."""
    texts = [
        (_title(heading), *map(_brief, cells))
        for heading, (_, cells) in zip(table.headings, table.columns, strict=True)
    ]
    widths = [max(cell_len(line) for text in of for line in text.split("\n")) for of in texts]
    gaps, last = _gaps(table.headings), len(widths) - 1
    end = 0
    for place, heading in enumerate(table.headings):
        end += widths[place] + gaps[place]
        if place == last or heading.group != table.headings[place + 1].group:
            # The name of a group stands at the right end of its columns.
            widths[place] += max(0, cell_len(heading.group) + _GAP - end)
            end = 0
    return widths


def _title(heading: Heading) -> str:
    return heading.axis.ruler if heading.axis else heading.text


def _gaps(headings: Sequence[Heading]) -> list[int]:
    """The space before each column: columns of one group are close."""
    pairs = pairwise([None, *headings])
    return [
        0 if left is None else 1 if right.group and left.group == right.group else _GAP
        for left, right in pairs
        if right is not None
    ]


def _total(widths: Sequence[int], headings: Sequence[Heading]) -> int:
    return sum(widths) + sum(_gaps(headings))


def _group_line(columns: Sequence[_Column]) -> str:
    """The names of groups, each at the right end of its columns."""
    line, end = "", 0
    for place, (heading, width, gap) in enumerate(columns):
        end += width + gap
        following = columns[place + 1][0].group if columns[place + 1 :] else ""
        if heading.group and heading.group != following:
            line += heading.group.rjust(end - len(line))
    return line


def _rich(columns: Sequence[_Column], rows: Iterable[Sequence[Cell]]) -> RichTable:
    # On a terminal too narrow for them, lines go on below, whole.
    total = sum(width + gap for _, width, gap in columns)
    table = RichTable(box=None, padding=0, pad_edge=False, show_header=False, width=total)
    for heading, width, gap in columns:
        justify: JustifyMethod = "left" if heading.is_left else "right"
        table.add_column(width=width + gap, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(
            *(Padding(_text(it), (0, 0, 0, of[2])) for it, of in zip(row, columns, strict=True))
        )
    return table


def _brief(cell: Cell) -> str:
    return (isinstance(cell, Word) and cell.short) or text_of(cell)


def _text(cell: Cell) -> Text:
    return Text(_brief(cell), style=cell.style if isinstance(cell, Word) else "")
