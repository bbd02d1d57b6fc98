"""The output streams of a command: results, log, and the progress of a comparison."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from waitbench.model.metrics import WINDOW
from waitbench.model.run import WARM_UP, Measurement, PlannedRun, Result
from waitbench.reporting.console import make_console, print_prose
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import format_quantity

_BAR_WIDTH, _LEAST_NAME_WIDTH = 24, 8
"""The width of the bar with the time left, and the least width of a scenario's name."""


class Log:
    """Prints lines, unless quiet. Wraps them only on a terminal."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console, self._quiet = console, quiet

    def __call__(self, label: str, step: str) -> None:
        """Prints the present step of a revision."""
        self.about(f"{label}: {step}")

    def about(self, activity: str) -> None:
        """Prints an activity that begins."""
        self.say(f"{activity} …")

    def say(self, text: str, style: str = "") -> None:
        if self._quiet:
            return
        if self._console.is_terminal:
            print_prose(text, self._console, style=style)
        else:
            self._console.print(text, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output streams of a command, and how much it prints."""

    quiet: bool = False
    as_json: bool = False
    verbosity: int = 0
    """1 prints the figures of each scenario, and all questions of a gate; 2 prints all figures."""
    progress_only: bool = False
    """Whether the caller prints the result itself."""
    price: float | None = None
    """The price of a core for a month."""

    @cached_property
    def answers(self) -> Console:
        """The console for results and the progress bar, above which no other console can print."""
        return make_console()

    @cached_property
    def progress(self) -> Console:
        """The console for progress: stderr if stdout is for JSON, or for the caller's output."""
        is_separate = self.as_json or self.progress_only
        return make_console(stderr=True) if is_separate else self.answers

    @cached_property
    def log(self) -> Log:
        return Log(self.progress, quiet=self.quiet)


class RunProgress(Log):
    """Shows each run as it begins, in one line of a terminal; elsewhere each round as it ends."""

    def __init__(
        self, console: Console, *, quiet: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, quiet=quiet)
        self._clock = clock
        self._running = 0
        self._rounds: int | None = None
        """The number of rounds, unless a rule decides it."""
        self._kind = ""
        """The kind of the rounds in progress."""
        self._spent_s = defaultdict[str, float](float)
        self._windows_s = defaultdict[str, float](float)
        """The time of each kind of round, and of its windows; concurrent runs count once."""
        self._window_s = 0.0
        """The longest window of the runs in progress."""
        self._share = 0.0
        """The part of the bar that is filled, which never shrinks."""
        self._budget_end = math.inf
        """The end of the budget, by the clock."""
        self._seconds_left: Callable[[], float] = lambda: 0.0
        self._started = self._begun = clock()
        """When this began, and when the runs in progress began."""
        # Without automatic refresh: this process must not wake up while idle workers are measured.
        # Transient: the bar disappears before tables are printed.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[left]}"),
            console=console, auto_refresh=False, expand=True, transient=True,
            disable=quiet or not console.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("measuring", total=1.0, left="")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def expect(
        self, seconds_left: Callable[[], float], budget_s: float, rounds: int | None = None
    ) -> None:
        """Sets the budget, and a function for the expected time until the comparison may end."""
        self._budget_end = self._clock() + budget_s
        self._seconds_left, self._rounds = seconds_left, rounds

    def repeat(self, runs: Sequence[PlannedRun]) -> None:
        where = f"{runs[0].scenario.name}, round {runs[0].round}"
        self.say(f"{where} again: other programs used CPU meanwhile.")

    def begin(self, planned: PlannedRun) -> None:
        self._running += 1
        if self._running == 1:
            self._begun, self._window_s = self._clock(), 0.0
        kind = "concurrent rounds" if self._running > 1 else "rounds in turns"
        self._kind = "warm-ups" if planned.round == WARM_UP else kind
        if self._bar.disable:
            return
        left_s, spent_s = self._left_s, self._clock() - self._started
        self._share = max(self._share, spent_s / (spent_s + left_s or 1.0))
        name, rest = planned.scenario.name, f" · {self._round_text(planned)} · {planned.label}"
        room = self._console.width - _BAR_WIDTH - len(rest)
        state: dict[str, Any] = {
            "description": f"{shorten(name, max(_LEAST_NAME_WIDTH, room))}{rest}",
            "completed": self._share,
            "left": _format_left(left_s),
        }
        self._bar.update(self._task, refresh=True, **state)

    def end(self, planned: PlannedRun, result: Result) -> None:
        if isinstance(result, Measurement):
            self._window_s = max(self._window_s, result.metrics.get(WINDOW, 0.0))
        else:
            failure = f"{planned.label} · {result.reason}: {result.message}"
            self.say(f"{planned.scenario.name} · {self._round_text(planned)} · {failure}")
        self._running -= 1
        if not self._running:
            self._spent_s[self._kind] += self._clock() - self._begun
            self._windows_s[self._kind] += self._window_s

    def end_rounds(self, runs: Sequence[PlannedRun]) -> None:
        """Prints the latest round of each scenario, except on a terminal, whose bar shows it."""
        if runs[0].round != WARM_UP and not self._console.is_terminal:
            left = _format_left(self._left_s)
            for last in {run.scenario.name: run for run in runs}.values():
                self.say(f"{last.scenario.name} · {self._round_text(last)} · {left}")

    def say_time_spent(self) -> None:
        """Prints the time of each kind of round, with the part of windows, and the rest."""
        rest_s = self._clock() - self._started - sum(self._spent_s.values())
        parts = [f"between runs {format_quantity(rest_s, 'second', 2)}"]
        parts += [
            f"{kind} {format_quantity(spent_s, 'second', 2)} "
            f"(windows {format_quantity(self._windows_s[kind], 'second', 2)})"
            for kind, spent_s in self._spent_s.items()
        ]
        self.say(f"Time: {', '.join(parts)}.")

    def _round_text(self, planned: PlannedRun) -> str:
        if planned.round == WARM_UP:
            return "warm-up"
        return f"round {planned.round}{'' if self._rounds is None else f' of {self._rounds}'}"

    @property
    def _left_s(self) -> float:
        return max(0.0, min(self._seconds_left(), self._budget_end - self._clock()))


def _format_left(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes}:{rest:02} left"
