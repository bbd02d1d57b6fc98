"""How far a comparison is: a live bar on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from waitbench.model.metrics import SYSTEM_CALLS
from waitbench.model.run import WARM_UP, Measurement, Outcome, PlannedRun, Result
from waitbench.reporting.formats import format_count


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
            self._console.print(f"{label}: {what} …")

    def about(self, what: str) -> None:
        """Says a step that is not for one revision in particular."""
        if not self._quiet:
            self._console.print(f"{what} …")


class RunProgress:
    """Shows runs as they end.

    The time left is the expected time of what is left, scaled by what was seen. Where nobody knows
    how many runs will follow, it is the longest that they may take.
    """

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._left: list[PlannedRun] = []
        self._total = 0
        self._console = console
        self._quiet = quiet
        self._expected_s = self._seen_s = 0.0
        self._at_most: float | None = None
        """When everything will have ended, at the latest; infinite where that is not known."""
        self._begun = time.monotonic()
        self._repeated = 0
        self._busy = ""
        # Refreshed by hand: while a worker's idleness is measured, nothing here may wake up.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            auto_refresh=False,
            expand=True,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("measuring", total=0, left="")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """More runs will follow those known so far; see ``execution.session.Observer``."""
        if at_most_s is not None:
            self._at_most = time.monotonic() + at_most_s
        self._left += runs
        self._total += len(runs)
        more_s = sum(run.scenario.expected_s for run in runs)
        self._bar.update(self._task, total=(self._bar.tasks[0].total or 0) + more_s)

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        """A round is made again, as others used so many cores during it."""
        self.extend(runs)
        self._repeated += 1
        times = format_count(self._repeated, "round was", "rounds were")
        self._busy = f" (others use {foreign_cores:.1f} cores; {times} repeated)"
        if not self._quiet and not self._console.is_terminal and self._repeated % 5 == 1:
            self._console.print(self._busy.strip(" ()").capitalize() + ".", soft_wrap=True)

    def about(self, what: str) -> None:
        """Says something that is done between runs."""
        if not self._quiet:
            self._console.print(f"{what} …")

    def begin(self, planned: PlannedRun) -> None:
        """A run is about to start."""
        self._begun = time.monotonic()
        doing = f"{planned.scenario.name} · {_round(planned)} · {planned.label}"
        self._bar.update(
            self._task,
            description=doing + self._busy,
            left=self._time_left(),
            refresh=True,
        )

    def end(self, planned: PlannedRun, result: Result) -> None:
        """The run that began is over."""
        if isinstance(result, Measurement):  # one that hung says nothing of how long others take
            self._expected_s += planned.scenario.expected_s
            self._seen_s += time.monotonic() - self._begun
        self.skip(planned)
        if self._quiet or (self._console.is_terminal and isinstance(result, Measurement)):
            return
        number = f"[{self._total - len(self._left)}/{self._total}]"
        what = f"{planned.scenario.name} {_round(planned)} {planned.label}"
        text = f"{number} {what}: {_brief(result)}"
        left = "" if self._console.is_terminal else self._time_left()
        self._console.print(text + (left and f" ({left})"), soft_wrap=True)

    def skip(self, planned: PlannedRun) -> None:
        """The next run of the plan will not take place, or has."""
        self._left.remove(planned)
        self._bar.update(self._task, advance=planned.scenario.expected_s)

    def _time_left(self) -> str:
        if self._at_most is None:
            return _human(self._time_left_s())
        left_s = max(0.0, self._at_most - time.monotonic())
        return f"at most {_human(left_s)}" if math.isfinite(left_s) else ""

    def _time_left_s(self) -> float:
        pace = self._seen_s / self._expected_s if self._expected_s else 1.0
        expected_s = sum(planned.scenario.expected_s for planned in self._left)
        return pace * expected_s


class MachinesProgress:
    """Shows what several machines say: on a terminal the last line of each, elsewhere every one."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            console=console,
            auto_refresh=False,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "MachinesProgress":
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()

    def about(self, what: str) -> None:
        """Says something that stays."""
        if not self._quiet:
            self._console.print(f"{what} …")

    def tell(self, machine: str, what: str) -> None:
        """A machine says what it does."""
        said = f"{machine}: {what}"
        if not self._console.is_terminal and not self._quiet:
            self._console.print(said, soft_wrap=True, markup=False, highlight=False)
            return
        if machine not in self._tasks:
            self._tasks[machine] = self._bar.add_task("", total=None)
        self._bar.update(self._tasks[machine], description=said, refresh=True)


def _round(planned: PlannedRun) -> str:
    name = "warm-up" if planned.round == WARM_UP else f"round {planned.round}"
    return f"{name}, instrumented" if planned.instrumented else name


def _brief(result: Result) -> str:
    if isinstance(result, Outcome):
        return f"{result.reason}: {result.message}"
    times = (("real", "time_wall_clock"), ("user", "time_user"), ("system", "time_system"))
    said = [f"{name} {result.metrics[key]:.2f} s" for name, key in times if key in result.metrics]
    if SYSTEM_CALLS in result.metrics:
        said.append(f"{result.metrics[SYSTEM_CALLS]:,.0f} system calls while waiting")
    return ", ".join(said) or "done"


def _human(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 90 else f"{minutes / 60:.1f} h left"
