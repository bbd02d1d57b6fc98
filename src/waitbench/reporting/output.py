"""The streams that a command prints to."""

from dataclasses import dataclass
from functools import cached_property

from rich.console import Console

from waitbench.reporting.console import make_console
from waitbench.reporting.idle import Price
from waitbench.reporting.progress import Log


@dataclass(frozen=True, kw_only=True)
class Output:
    """The streams of a command, and the amount of what it prints."""

    quiet: bool = False
    as_json: bool = False
    verbosity: int = 0
    """1 prints the figures of each scenario, and all questions of a gate; 2 prints all figures."""
    progress_only: bool = False
    """Whether the caller prints the result."""
    price: Price | None = None

    @cached_property
    def answers(self) -> Console:
        """One for all: text that is printed to the console that has a bar does not tear it."""
        return make_console()

    @cached_property
    def progress(self) -> Console:
        """On stderr where stdout is for something else than tables and sentences."""
        is_apart = self.as_json or self.progress_only
        return make_console(stderr=True) if is_apart else self.answers

    @cached_property
    def log(self) -> Log:
        return Log(self.progress, quiet=self.quiet)
