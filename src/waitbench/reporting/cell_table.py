"""A table of plain cells as data, and its two forms: on a console and in Markdown."""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from waitbench.reporting import markdown
from waitbench.reporting.columns import Column, Names, print_columns
from waitbench.system.streams import printable

_LEAST = 20
"""Names of rows keep so many characters; whole figures matter more than long names."""


@dataclass(frozen=True)
class CellTable:
    """The first column names the row; the others are numbers, as text. ``notes`` are sentences."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def print_to(self, console: Console) -> None:
        console.print(self.title, style="bold")
        names, *columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.header)
        print_columns(
            [Names(heading=_folded(self.header[0]), texts=names, least=_LEAST)],
            [
                Column(heading=_folded(name), cells=[*map(Text, cells)], justify="right")
                for name, cells in zip(self.header[1:], columns, strict=True)
            ],
            console,
        )
        for note in self.notes:
            console.print(note)
        console.print()

    def as_markdown(self) -> str:
        lines = markdown.table(self.header, self.rows, numbers_from=1)
        text = "\n".join([f"**{self.title}**", "", *lines, "", *self.notes])
        return printable(text).rstrip() + "\n"


def _folded(name: str) -> str:
    """A heading, folded at its hyphen, so that five columns fit 80 characters."""
    return name.replace("-", "-\n", 1) if len(name) > 10 else name
