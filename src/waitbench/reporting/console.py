"""Documents on a console, and the console that everything is printed on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.document import (
    Answer,
    Cell,
    Command,
    Document,
    Dot,
    Headline,
    Quote,
    Table,
    Value,
)
from waitbench.reporting.formats import (
    format_change,
    format_range,
    format_spread,
    format_value,
)
from waitbench.reporting.shortening import shorten_apart
from waitbench.system.streams import printable

STYLES = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.WITHIN_MARGIN: "dim",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_MEASURED: "red",
    Verdict.EXCUSED: "yellow",
}
_GAP = 2
_RESULT = " RESULT "
_WIDEST = 100
"""What stands at the right of an answer is no further from what it is about."""
_CONTINUED = " \\"
"""Ends a line of a command that goes on below."""


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


def print_document(document: Document, console: Console) -> None:
    """Prints the tables, then all else, and the headline last, where the eye ends."""
    for block in sorted(document.blocks, key=lambda block: not isinstance(block, Table)):
        if isinstance(block, Table):
            if block.rows:
                print_cells(block, console)
        elif isinstance(block, Quote):
            for line in block.lines:
                console.print(Text(f"  {line}"), soft_wrap=True)
        elif isinstance(block, Command):
            _print_hanging("To measure it again: ", _folded(block.text, console, 21), console)
        else:
            for sentence in block.texts:
                print_prose(sentence, console)
    print_prose(document.headline, console, style=document.style)


def print_prose(text: str, console: Console, *, first: str = "", style: str = "") -> None:
    """Prints a sentence; what does not fit goes on below, after ``first``. No word is broken."""
    _print_hanging(first, _lines(text, console.width - cell_len(first)), console, style=style)


def print_answer(answer: Answer, console: Console) -> None:
    """Prints what it comes to, below everything else, where the eye ends."""
    _print_title(answer, console)
    for headline in answer.headlines:
        _print_headline(headline, console)
    if answer.table is not None and answer.table.rows:
        console.print()
        print_cells(answer.table, console)
    for remark in answer.remarks:
        print_prose(remark, console, style="dim")
    if answer.warnings:
        console.print()
    for warning in answer.warnings:
        print_prose(warning.text, console, first="! ", style=warning.style)
    if answer.links:
        console.print()
    width = max((len(name) for name, _ in answer.links), default=0) + _GAP
    for name, link in answer.links:
        first = name.ljust(width)
        if isinstance(link, str):
            print_prose(link, console, first=first)
            continue
        if link.purpose:
            print_prose(f"{link.purpose}:", console, first=first)
            first = " " * width
        _print_hanging(first, _folded(link.text, console, width), console)


def _print_title(answer: Answer, console: Console) -> None:
    indent = " " * (len(_RESULT) + _GAP)
    first, *more = _lines(answer.title, console.width - len(indent))
    text = Text.assemble((_RESULT, "bold reverse"), (" " * _GAP + first, "bold"))
    if not more:
        _print_apart(text, answer.basis, console)
        return
    console.print(text, soft_wrap=True)
    _print_hanging(indent, more, console, style="bold")
    print_prose(answer.basis, console, first=indent, style="dim")


def _print_headline(headline: Headline, console: Console) -> None:
    first = f"{headline.mark} " if headline.mark else ""
    lines = _lines(headline.text, min(console.width, _WIDEST) - cell_len(first))
    text = Text(f"{first}{lines[0]}", style=headline.style)
    if len(lines) == 1:
        _print_apart(text, headline.aside, console)
        return
    _print_hanging(first, lines, console, style=headline.style)
    if headline.aside:
        print_prose(headline.aside, console, first=" " * len(first), style="dim")


def _print_apart(text: Text, aside: str, console: Console) -> None:
    """Prints a text, and at the right of it another, or below it where that does not fit."""
    room = min(console.width, _WIDEST) - text.cell_len - cell_len(aside)
    if room < _GAP and aside:
        console.print(text, soft_wrap=True)
        print_prose(aside, console, first="  ", style="dim")
        return
    beside = Text.assemble(" " * room, (aside, "dim")) if aside else Text()
    console.print(Text.assemble(text, beside), soft_wrap=True)


def _print_hanging(first: str, lines: Sequence[str], console: Console, *, style: str = "") -> None:
    for number, line in enumerate(lines):
        begin = " " * cell_len(first) if number else first
        console.print(Text(f"{begin}{line}", style=style), soft_wrap=True)


def _lines(text: str, width: int) -> list[str]:
    """Lines of whole words: one that is too long has a line of its own."""
    return [line for each in text.split("\n") for line in _filled(each.split(" "), width)]


def _filled(words: Sequence[str], width: int) -> list[str]:
    lines = list(words[:1])
    for word in words[1:]:
        if cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}"
    return lines


def _folded(command: str, console: Console, used: int) -> list[str]:
    """The lines of a command, which can be copied as they are: each but the last goes on below."""
    words: list[str] = []
    for word in command.split(" "):
        # An option and its value stay together.
        if words and words[-1].startswith("-") and " " not in words[-1] and word[:1] != "-":
            words[-1] += f" {word}"
        else:
            words.append(word)
    *lines, last = _filled(words, console.width - used - len(_CONTINUED))
    return [*(f"{line}{_CONTINUED}" for line in lines), last]


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

    Columns that give way do so first; then names are shortened, but so that they still differ; then
    columns stand below the others.
    """
    table = table.in_text
    headings = table.headings
    columns = [
        _Column(
            heading.text if heading.short is None else heading.short,
            [_text(row[place]) for row in table.rows],
            "left" if heading.is_left else "right",
        )
        for place, heading in enumerate(headings)
    ]
    if _total([column.width for column in columns]) > console.width:
        kept = zip(columns, headings, strict=True)
        columns = [column for column, heading in kept if not heading.gives_way]
    if table.folds:
        _print_folded(columns, console)
        return
    names, figures = columns[: table.names], columns[table.names :]
    widths, blocks = arrange(names, figures, table.least, console.width)
    shortened = [name.shortened(width) for name, width in zip(names, widths, strict=True)]
    rows_of: dict[str, list[int]] = {}
    for row, group in enumerate(table.groups or ("",) * len(table.rows)):
        rows_of.setdefault(group, []).append(row)
    for block in blocks:
        beside = [*shortened, *block]
        all_widths = [*widths, *(column.width for column in block)]
        _print_rows(beside, all_widths, range(0), console, with_heading=True)
        for group, rows in rows_of.items():
            if group:
                # A row of its own: it would not fit beside the rest in 80 columns.
                console.print(Text(group, style="bold"))
            _print_rows(beside, all_widths, rows, console, with_heading=False)


def _print_folded(columns: Sequence["_Column"], console: Console) -> None:
    table = RichTable(box=None, padding=(0, _GAP, 0, 0))
    for column in columns:
        table.add_column(column.heading, justify=column.justify, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    console.print(table)


@dataclass(frozen=True)
class _Column:
    """A heading and what stands below it."""

    heading: str
    cells: Sequence[Text]
    justify: JustifyMethod = "left"

    @property
    def width(self) -> int:
        texts = (self.heading, *(cell.plain for cell in self.cells))
        return max(cell_len(line) for text in texts for line in text.split("\n"))

    def shortened(self, width: int) -> "_Column":
        """The same with texts that fit."""
        texts = shorten_apart([cell.plain for cell in self.cells], width)
        return _Column(self.heading, [Text(text) for text in texts], self.justify)


def arrange(
    names: Sequence[_Column], figures: Sequence[_Column], least: int, width: int
) -> tuple[list[int], list[list[_Column]]]:
    """The widths of the names, and the figures that stand beside one another, block by block."""
    needed = _total([min(name.width, least) for name in names])
    blocks: list[list[_Column]] = [[]]
    for column in figures:
        if blocks[-1] and width - _taken([*blocks[-1], column]) < needed:
            blocks.append([])
        blocks[-1].append(column)
    room = max(needed, min(width - _taken(block) for block in blocks))
    widths = [name.width for name in names]
    for place in reversed(range(len(widths))):  # the last names give way first
        excess = max(0, _total(widths) - room)
        widths[place] = max(min(widths[place], least), widths[place] - excess)
    return widths, blocks


def _taken(columns: Sequence[_Column]) -> int:
    return sum(column.width + _GAP for column in columns)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _print_rows(
    columns: Sequence[_Column],
    widths: Sequence[int],
    rows: Sequence[int],
    console: Console,
    *,
    with_heading: bool,
) -> None:
    table = RichTable(
        box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=with_heading,
        # On a terminal too narrow for one column, lines go on below, whole.
        width=_total(widths),
    )  # fmt: skip
    for column, width in zip(columns, widths, strict=True):
        table.add_column(Text(column.heading), width=width, justify=column.justify, no_wrap=True)
    for row in rows:
        table.add_row(*(column.cells[row] for column in columns))
    console.print(table, crop=False)


def _text(cell: Cell) -> Text:
    if isinstance(cell, str):
        return Text(cell)
    if isinstance(cell, Value):
        return _value(cell)
    if isinstance(cell, Dot):
        return Text(cell.text)
    return Text(cell.text, style=cell.style)


def _value(cell: Value) -> Text:
    """The mean, and below it the ratio to the baseline, each with its interval."""
    text = Text(cell.text)
    spread = format_spread(cell.estimate, lambda value: format_value(value, cell.metric))
    text.append(f" {spread}".rstrip(), style="dim")
    if cell.ratio is not None:
        text.append(f"\n{format_change(cell.ratio)}", style=STYLES[cell.ratio.verdict])
        # Below it: four columns of ratios with intervals beside them do not fit 80 characters.
        text.append(f"\n{format_range(cell.ratio)}".rstrip(), style="dim")
    return text
