"""What a console shows, as lines of text."""

import io
from collections.abc import Callable

from rich.console import Console

from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.document import Table


def lines_of(show: Callable[[Console], None], width: int = 80) -> list[str]:
    """The lines that ``show`` prints, without what is blank at their ends."""
    file = io.StringIO()
    show(make_console(file=file, width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def lines_of_table(table: Table, width: int = 80) -> list[str]:
    """The lines of a table with its title and notes."""
    return lines_of(lambda console: print_tables([table], console), width)
