"""How far a comparison is: a live bar on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from waitbench.model.run import WARM_UP, Measurement, Outcome, PlannedRun, Result
from waitbench.reporting.console import print_prose
from waitbench.reporting.formats import format_number, format_quantity


class PreparationLog:
    """Says what is being set up, a line a step; on a terminal with a spinner while entered."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._status: AbstractContextManager[Any] = (
            console.status("setting up") if console.is_terminal and not quiet else nullcontext()
        )

    def __enter__(self) -> "PreparationLog":
        self._status.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._status.__exit__(*error)

    def __call__(self, label: str, what: str) -> None:
        if not self._quiet:
            print_prose(f"{label}: {what} …", self._console)

    def about(self, what: str) -> None:
        """Says a step that is not for one revision in particular."""
        if not self._quiet:
            print_prose(f"{what} …", self._console)


class RunProgress:
    """Shows runs as they end.

    The time left is the expected time of what is left, scaled by what was seen. Where nobody knows
    how many runs will follow, it is the longest that they may take. The bar never goes back.
    """

    def __init__(
        self, console: Console, *, quiet: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._left: list[PlannedRun] = []
        self._total = 0
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self._expected_s = self._seen_s = 0.0
        self._at_most: float | None = None
        """When everything will have ended, at the latest; infinite where that is not known."""
        self._started = self._begun = clock()
        self._share = 0.0
        """What the bar shows as done."""
        # Refreshed by hand: while a worker's idleness is measured, nothing here may wake up.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            auto_refresh=False,
            expand=True,
            # What is done needs no bar: none is left behind among the tables.
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("measuring", total=1.0, left="")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """More runs will follow those known so far; see ``execution.session.Observer``."""
        if at_most_s is not None:
            before = math.inf if self._at_most is None else self._at_most
            self._at_most = min(before, self._clock() + at_most_s)
        self._left += runs
        self._total += len(runs)

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        """A round is made again, as others used so many cores during it."""
        self.extend(runs)
        if not self._quiet:
            name, number, _ = self._described(runs[0])
            others = f"other programs used {format_number(foreign_cores)} cores meanwhile"
            self._say(f"{name} {number} again: {others}.")

    def about(self, what: str) -> None:
        """Says something that is done between runs."""
        if not self._quiet:
            print_prose(f"{what} …", self._console)

    def begin(self, planned: PlannedRun) -> None:
        """A run is about to start."""
        self._begun = self._clock()
        left_s = self._time_left_s()
        spent_s = self._begun - self._started
        if math.isfinite(left_s) and spent_s + left_s > 0:
            self._share = max(self._share, spent_s / (spent_s + left_s))
        self._bar.update(
            self._task,
            description=" · ".join(self._described(planned)),
            completed=self._share,
            left=self._time_left(),
            refresh=True,
        )

    def end(self, planned: PlannedRun, result: Result) -> None:
        """The run that began is over."""
        if isinstance(result, Measurement):  # one that hung says nothing of how long others take
            self._expected_s += planned.scenario.expected_s
            now = self._clock()
            # Several may have begun together: their time is counted once.
            self._seen_s, self._begun = self._seen_s + now - self._begun, now
        self.skip(planned)
        if self._quiet or (self._console.is_terminal and isinstance(result, Measurement)):
            return
        # Nobody knows how many runs will follow where only the longest time is known.
        of_all = "" if self._at_most is not None else f"/{self._total}"
        left = "" if self._console.is_terminal else self._time_left()
        what = " ".join(self._described(planned))
        said = f"[{self._total - len(self._left)}{of_all}] {what}: {_brief(result)}"
        self._say(said + (left and f" ({left})"))

    def _say(self, text: str) -> None:
        """A line: in a file it is one, however long it is."""
        if self._console.is_terminal:
            print_prose(text, self._console)
        else:
            self._console.print(text, soft_wrap=True)

    def skip(self, planned: PlannedRun) -> None:
        """The next run of the plan will not take place, or has."""
        self._left.remove(planned)

    def _described(self, planned: PlannedRun) -> tuple[str, str, str]:
        return planned.scenario.name, _round(planned), planned.label

    def _time_left(self) -> str:
        left_s = self._time_left_s()
        at_most = "" if self._at_most is None else "at most "
        return f"{at_most}{_human(left_s)}" if math.isfinite(left_s) else ""

    def _time_left_s(self) -> float:
        if self._at_most is not None:
            return max(0.0, self._at_most - self._clock())
        pace = self._seen_s / self._expected_s if self._expected_s else 1.0
        return pace * sum(planned.scenario.expected_s for planned in self._left)


def _round(planned: PlannedRun) -> str:
    return "warm-up" if planned.round == WARM_UP else f"round {planned.round}"


def _brief(result: Result) -> str:
    if isinstance(result, Outcome):
        return f"{result.reason}: {result.message}"
    times = (("real", "time_wall_clock"), ("user", "time_user"), ("system", "time_system"))
    said = [
        f"{name} {format_quantity(result.metrics[key], 'second')}"
        for name, key in times
        if key in result.metrics
    ]
    return ", ".join(said) or "done"


def _human(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 90 else f"{minutes / 60:.1f} h left"
