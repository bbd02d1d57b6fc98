"""Tables whose figures are never cropped: names are shortened first, then columns stand below.

A name that is shortened still differs from every other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from waitbench.reporting.style import shorten_apart

_GAP = 2


@dataclass(frozen=True, kw_only=True)
class Names:
    """A column of names, which stands before the figures and may be shortened."""

    heading: str
    texts: Sequence[str]
    least: int = 12
    """It keeps so many characters, should it need them."""

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.heading, *self.texts)))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of figures."""

    heading: str
    cells: Sequence[Text]
    justify: JustifyMethod = "left"

    @property
    def width(self) -> int:
        texts = (self.heading, *(cell.plain for cell in self.cells))
        return max(cell_len(line) for text in texts for line in text.split("\n"))


@dataclass(frozen=True, kw_only=True)
class Block:
    """The columns that stand beside one another."""

    names: Sequence[tuple[Names, int]]
    """Each with the width that it is shortened to."""
    columns: Sequence[Column]

    def print_heading(self, console: Console) -> None:
        """Prints the headings alone, where rows stand in groups of their own."""
        self._print(console, range(0), with_heading=True)

    def print_rows(self, console: Console, rows: range) -> None:
        """Prints some of the rows, aligned with the headings and with all others."""
        self._print(console, rows, with_heading=False)

    def print_all(self, console: Console) -> None:
        """Prints the headings and every row."""
        self._print(console, range(len(self.names[0][0].texts)), with_heading=True)

    def _print(self, console: Console, rows: range, *, with_heading: bool) -> None:
        widths = [width for _, width in self.names] + [column.width for column in self.columns]
        table = Table(
            box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=with_heading,
            # On a terminal too narrow for one column, lines go on below, whole.
            width=sum(widths) + _GAP * (len(widths) - 1),
        )  # fmt: skip
        for names, width in self.names:
            table.add_column(Text(names.heading), width=width, no_wrap=True)
        for column in self.columns:
            heading = Text(column.heading)
            table.add_column(heading, width=column.width, justify=column.justify, no_wrap=True)
        shown = [shorten_apart(names.texts, width) for names, width in self.names]
        for row in rows:
            cells = (column.cells[row] for column in self.columns)
            table.add_row(*(Text(texts[row]) for texts in shown), *cells)
        console.print(table, crop=False)


def arrange(names: Sequence[Names], columns: Sequence[Column], width: int) -> list[Block]:
    """Puts as many columns beside one another as fit, and the others below, names repeated."""
    least = _total([min(each.width, each.least) for each in names])
    groups: list[list[Column]] = [[]]
    for column in columns:
        if groups[-1] and width - _taken([*groups[-1], column]) < least:
            groups.append([])
        groups[-1].append(column)
    room = max(least, min(width - _taken(group) for group in groups))
    widths = _shrunk(names, room)
    return [Block(names=list(zip(names, widths, strict=True)), columns=group) for group in groups]


def print_columns(names: Sequence[Names], columns: Sequence[Column], console: Console) -> None:
    """Prints a table that fits the console."""
    for block in arrange(names, columns, console.width):
        block.print_all(console)


def _taken(columns: Sequence[Column]) -> int:
    return sum(column.width + _GAP for column in columns)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _shrunk(names: Sequence[Names], room: int) -> list[int]:
    """Widths that fit into so many columns; the last names give way first."""
    widths = [each.width for each in names]
    for place in reversed(range(len(names))):
        excess = max(0, _total(widths) - room)
        widths[place] = max(min(widths[place], names[place].least), widths[place] - excess)
    return widths
