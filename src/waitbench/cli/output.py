"""Where a command says things, and how much."""

from dataclasses import dataclass

from rich.console import Console

from waitbench.reporting.console import make_console


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where things are said, and how much."""

    quiet: bool
    as_json: bool

    @property
    def answers(self) -> Console:
        return make_console()

    @property
    def progress(self) -> Console:
        return make_console(stderr=True) if self.as_json else self.answers
