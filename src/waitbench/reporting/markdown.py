"""What Markdown needs: cells whose text cannot end them, and lines of a table."""

from collections.abc import Sequence

from waitbench.system.streams import printable


def escape(text: str) -> str:
    """Text that stays text, in a table too."""
    one_line = printable(text).replace("\n", " ")
    return one_line.replace("|", "\\|").replace("<", "&lt;")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int) -> list[str]:
    """The lines of a table; its columns are aligned as numbers from the one with this place on."""
    rules = ["---:" if place >= numbers_from else "---" for place in range(len(header))]
    return [_line(header), _line(rules), *(_line([escape(cell) for cell in row]) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
