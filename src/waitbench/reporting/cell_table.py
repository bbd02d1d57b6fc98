"""A table of plain cells as data, and its two forms: on a console and in Markdown."""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.reporting import markdown


@dataclass(frozen=True)
class CellTable:
    """The first column names the row; the others are numbers, as text. ``notes`` are sentences."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def print_to(self, console: Console) -> None:
        console.print(self.title, style="bold", highlight=False, markup=False)
        table = Table(box=None, padding=(0, 2, 0, 0), collapse_padding=True)
        for place, name in enumerate(self.header):
            # Folded at its hyphen, so that five columns fit 80 characters.
            table.add_column(
                Text(name.replace("-", "-\n", 1) if len(name) > 10 else name),
                justify="right" if place else "left",
                no_wrap=place == 0,
            )
        for row in self.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        for note in self.notes:
            console.print(note, highlight=False, markup=False)
        console.print()

    def as_markdown(self) -> str:
        lines = markdown.table(self.header, self.rows, numbers_from=1)
        text = "\n".join([f"**{self.title}**", "", *lines, "", *self.notes])
        return text.rstrip() + "\n"
