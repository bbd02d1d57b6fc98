"""Documents on a console, and the console that everything is printed on."""

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
from waitbench.reporting.document import Answer, Cell, Heading, Table, TextCell, text_of
from waitbench.reporting.drawing import MARK_STYLES
from waitbench.reporting.notes import HEADLINES
from waitbench.system.streams import printable

_GAP = 2
_RESULT = " RESULT "
_LEAST = 12
"""The width at which a column of names is not folded any further."""
_Column = tuple[Heading, int, int]
"""A heading, the width of its column, and the space before it."""


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
    """Replaces control characters in everything that is printed, wherever it comes from."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            # Rich's own commands to the terminal, such as to move up a line, are in `control`.
            is_text = not segment.control
            yield Segment(printable(segment.text), segment.style) if is_text else segment


def print_prose(text: str, console: Console, *, first: str = "", style: str = "") -> None:
    """Prints a sentence after ``first``, wrapped below itself. No word is broken."""
    _print_hanging(first, _lines(text, console.width - cell_len(first)), console, style=style)


def print_answer(answer: Answer, console: Console) -> None:
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
        # Never wrapped, so that it can be copied.
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
    """Lines of whole words: a word that is too long has a line of its own."""
    return [
        line
        for each in text.split("\n")
        for line in wrap(each, max(1, width), break_long_words=False, break_on_hyphens=False)
    ]


def print_tables(tables: Iterable[Table], console: Console) -> None:
    for table in tables:
        console.print(Text(table.title, style="bold"))
        print_cells(table, console)
        for note in table.notes:
            print_prose(note, console)
        console.print()


def print_cells(table: Table, console: Console) -> None:
    """Prints headings and rows: columns that give way go first, then names fold; no figure does."""
    table = table.without([it for it in table.headings if it.axis and not it.axis.characters])
    if _total(_widths(table), table.headings) > console.width:
        table = table.without([it for it in table.headings if it.gives_way])
    headings, widths = table.headings, _widths(table)
    names = [place for place, it in enumerate(headings) if it.is_left and not it.axis]
    while _total(widths, headings) > console.width and any(widths[it] > _LEAST for it in names):
        widths[max(names, key=widths.__getitem__)] -= 1
    columns = [*zip(headings, widths, _gaps(headings), strict=True)]
    if any(heading.group for heading in headings):
        console.print(Text(_group_line(columns), style="bold"), crop=False)
    titles = [TextCell(text=_title(heading), style="bold") for heading in headings]
    console.print(_rich(columns, [titles]), crop=False)
    for group, rows in table.grouped_rows.items():
        if group:
            # On a line of its own, as it would not fit beside the rest in 80 columns.
            console.print(Text(group, style="bold"), soft_wrap=True)
        console.print(_rich(columns, rows), crop=False)


def _widths(table: Table) -> list[int]:
    texts = [
        (_title(heading), *map(_brief, cells))
        for heading, (_, cells) in zip(table.headings, table.columns, strict=True)
    ]
    widths = [max(map(cell_len, "\n".join(column).split("\n"))) for column in texts]
    gaps = _gaps(table.headings)
    for group, members in groupby(range(len(widths)), lambda place: table.headings[place].group):
        places = [*members]
        width = sum(widths[place] + gaps[place] for place in places)
        widths[places[-1]] += max(0, cell_len(group) + _GAP - width)
    return widths


def _title(heading: Heading) -> str:
    return heading.axis.ruler if heading.axis else heading.text


def _gaps(headings: Sequence[Heading]) -> list[int]:
    """The space before each column: columns of one group are close."""
    return [0] * bool(headings) + [
        1 if right.group and left.group == right.group else _GAP
        for left, right in pairwise(headings)
    ]


def _total(widths: Sequence[int], headings: Sequence[Heading]) -> int:
    return sum(widths) + sum(_gaps(headings))


def _group_line(columns: Sequence[_Column]) -> str:
    """The names of groups, each at the right end of its columns."""
    line, end = "", 0
    for group, members in groupby(columns, lambda column: column[0].group):
        end += sum(width + gap for _, width, gap in members)
        line += group.rjust(end - len(line)) if group else ""
    return line


def _rich(columns: Sequence[_Column], rows: Iterable[Sequence[Cell]]) -> RichTable:
    # A line too wide for the terminal wraps there: nothing is cropped.
    total = sum(width + gap for _, width, gap in columns)
    table = RichTable(box=None, padding=0, pad_edge=False, show_header=False, width=total)
    for heading, width, gap in columns:
        justify: JustifyMethod = "left" if heading.is_left else "right"
        table.add_column(width=width + gap, justify=justify, overflow="fold")
    for row in rows:
        cells = zip(row, columns, strict=True)
        table.add_row(*(Padding(_text(cell), (0, 0, 0, gap)) for cell, (*_, gap) in cells))
    return table


def _brief(cell: Cell) -> str:
    return (isinstance(cell, TextCell) and cell.short) or text_of(cell)


def _text(cell: Cell) -> Text:
    return Text(_brief(cell), style=cell.style if isinstance(cell, TextCell) else "")
