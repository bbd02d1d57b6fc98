"""What a console shows, as lines of text."""

import io
from collections.abc import Callable

from rich.console import Console


def lines_of(show: Callable[[Console], None], width: int = 80) -> list[str]:
    """The lines that ``show`` prints, without what is blank at their ends."""
    file = io.StringIO()
    show(Console(file=file, width=width, highlight=False))
    return [line.rstrip() for line in file.getvalue().splitlines()]
