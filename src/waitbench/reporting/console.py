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
from waitbench.reporting.document import Cell, Command, Document, Quote, Ratio, Table, Value
from waitbench.reporting.formats import (
    format_estimate,
    format_interval,
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
    Verdict.BELOW_FLOOR: "dim",
}
_GAP = 2


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
            console.print(Text(f"To measure it again: {block.text}"), soft_wrap=True)
        else:
            for sentence in block.texts:
                console.print(Text(sentence))
    console.print(Text(document.headline, style=document.style))


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Prints each with its title and its notes."""
    for table in tables:
        console.print(Text(table.title, style="bold"))
        print_cells(table, console)
        for note in table.notes:
            console.print(Text(note))
        console.print()


def print_cells(table: Table, console: Console) -> None:
    """Prints the headings and all rows. Figures are never cropped.

    Names are shortened first, but so that they still differ; then columns stand below the others.
    """
    columns = [
        _Column(
            heading.text if heading.short is None else heading.short,
            [_text(row[place]) for row in table.rows],
            "left" if heading.is_left else "right",
        )
        for place, heading in enumerate(table.headings)
    ]
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
    if isinstance(cell, Ratio):
        return Text(cell.text, style=STYLES[cell.estimate.verdict])
    if isinstance(cell, Value):
        return _value(cell)
    return Text(cell.text if cell.short is None else cell.short, style=cell.style)


def _value(cell: Value) -> Text:
    """The mean, and below it the ratio to the baseline, each with its interval."""
    text = Text(cell.text)
    spread = format_spread(cell.estimate, lambda value: format_value(value, cell.metric))
    text.append(f" {spread}".rstrip(), style="dim")
    if cell.ratio is not None:
        text.append(f"\n{format_estimate(cell.ratio)}", style=STYLES[cell.ratio.verdict])
        # Below it: four columns of ratios with intervals beside them do not fit 80 characters.
        text.append(f"\n{format_interval(cell.ratio)}".rstrip(), style="dim")
    return text
