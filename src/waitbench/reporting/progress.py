"""How far a comparison is: a live bar on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from waitbench.model.run import WARM_UP, Measurement, PlannedRun, Result
from waitbench.reporting.console import print_prose
from waitbench.reporting.formats import format_number


class Log:
    """Prints lines, unless it is to be quiet: in a file each is one, however long it is."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet

    def about(self, what: str) -> None:
        """Says what is done now."""
        self.say(f"{what} …")

    def say(self, text: str, style: str = "") -> None:
        """Prints a line."""
        if self._quiet:
            return
        if self._console.is_terminal:
            print_prose(text, self._console, style=style)
        else:
            self._console.print(text, soft_wrap=True)


class PreparationLog(Log):
    """Says what is being set up, a line a step."""

    def __call__(self, label: str, what: str) -> None:
        self.about(f"{label}: {what}")


class RunProgress(Log):
    """Shows runs as they end.

    The time left is the expected time of what is left, scaled by what was seen. Where nobody knows
    how many runs will follow, it is the longest that they may take. The bar never goes back.
    """

    def __init__(
        self, console: Console, *, quiet: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, quiet=quiet)
        self._left: list[PlannedRun] = []
        self._total = 0
        self._clock = clock
        self._expected_s = self._seen_s = 0.0
        self._end = math.inf
        """When everything will have ended, at the latest; infinite where that is not known."""
        self._started = self._begun = clock()
        self._share = 0.0
        """What the bar shows as done."""
        # Refreshed by hand: while a worker's idleness is measured, nothing here may wake up. What
        # is done needs no bar: none is left behind among the tables.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
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

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """More runs will follow those known so far; see ``execution.session.Observer``."""
        if at_most_s is not None:
            self._end = min(self._end, self._clock() + at_most_s)
        self._left += runs
        self._total += len(runs)

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        """A round is made again, as others used so many cores during it."""
        self.extend(runs)
        name, number, _ = _described(runs[0])
        others = f"other programs used {format_number(foreign_cores)} cores meanwhile"
        self.say(f"{name} {number} again: {others}.")

    def begin(self, planned: PlannedRun) -> None:
        """A run is about to start."""
        self._begun = self._clock()
        left_s, spent_s = self._left_s, self._begun - self._started
        self._share = max(self._share, spent_s / (spent_s + left_s or 1.0))
        description = " · ".join(_described(planned))
        self._bar.update(
            self._task, description=description, completed=self._share, left=self._time_left,
            refresh=True,
        )  # fmt: skip

    def end(self, planned: PlannedRun, result: Result) -> None:
        """The run that began is over."""
        is_measured = isinstance(result, Measurement)
        if is_measured:  # one that hung says nothing of how long others take
            self._expected_s += planned.scenario.expected_s
            now = self._clock()
            # Several may have begun together: their time is counted once.
            self._seen_s, self._begun = self._seen_s + now - self._begun, now
        self.skip(planned)
        # On a terminal the bar says the rest.
        if is_measured and self._console.is_terminal:
            return
        of_all = "" if math.isfinite(self._end) else f"/{self._total}"
        left = "" if self._console.is_terminal else f" ({self._time_left})"
        what = " ".join(_described(planned))
        failure = "" if isinstance(result, Measurement) else f": {result.reason}: {result.message}"
        number = self._total - len(self._left)
        self.say(f"[{number}{of_all}] {what}{failure}{left}")

    def skip(self, planned: PlannedRun) -> None:
        """The next run of the plan will not take place, or has."""
        self._left.remove(planned)

    @property
    def _time_left(self) -> str:
        at_most = "at most " if math.isfinite(self._end) else ""
        return f"{at_most}{_human(self._left_s)} left"

    @property
    def _left_s(self) -> float:
        if math.isfinite(self._end):
            return max(0.0, self._end - self._clock())
        pace = self._seen_s / self._expected_s if self._expected_s else 1.0
        return pace * sum(planned.scenario.expected_s for planned in self._left)


def _described(planned: PlannedRun) -> tuple[str, str, str]:
    number = "warm-up" if planned.round == WARM_UP else f"round {planned.round}"
    return planned.scenario.name, number, planned.label


def _human(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
