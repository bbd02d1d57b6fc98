"""The console that everything is printed on: what is printed there is text, and nothing else."""

from collections.abc import Iterator
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from waitbench.system.streams import printable


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
