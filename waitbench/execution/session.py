"""Carries out a plan: one run after the other, each on disk before the next begins."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from filelock import FileLock, Timeout

from waitbench.cli.progress import RunProgress
from waitbench.execution import plan
from waitbench.execution.measure import HARMLESS, NOT_SUPPORTED, TIMED_OUT, Measurement, Measurer, Outcome
from waitbench.execution.plan import WARM_UP, PlannedRun
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Scenario
from waitbench.store import results
from waitbench.store.results import Record
from waitbench.system.places import Cache
from waitbench.system.watch import DISTURBED

GIVE_UP_AFTER = 2
"""Failed runs of one revision in one scenario, without a good one before them, after which the rest are not tried.

A run that hung is not tried again at all: its time limit is generous, and waiting for it is what costs the user most.
"""

MOST_REPEATS = 2
"""How often a disturbed round is repeated; the last attempt is kept, with its mark."""


@dataclass(frozen=True)
class Session:
    """Where runs are made, shown and kept."""

    measurer: Measurer
    records: Mapping[str, Record]
    """By scenario; these grow."""
    folder: Path
    progress: RunProgress

    def carry_out(self, runs: Sequence[PlannedRun]) -> None:
        """Runs what a plan says, round by round."""
        for _, one_round in groupby(runs, key=lambda run: (run.scenario.name, run.round)):
            self._round(list(one_round))

    def carry_out_until(
        self,
        settled: Callable[[Record], bool],
        chosen: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
    ) -> None:
        """Adds rounds to each scenario until it is settled, has had ``most_rounds``, or the next would exceed the budget.

        Scenarios take turns, so that a budget that runs out leaves all of them with about as many rounds. There is one warm-up of
        each revision for all scenarios.
        """
        begun = time.monotonic()
        open_ones = [scenario for scenario in chosen if not settled(self.records[scenario.name])]
        if open_ones:
            self._extend(plan.one_round(open_ones[0], labels, WARM_UP))
        for number in range(1, most_rounds + 1):
            for scenario in list(open_ones):
                record = self.records[scenario.name]
                # A resumed comparison has some rounds already.
                missing = [run for run in plan.one_round(scenario, labels, number) if not _is_done(run, record)]
                if time.monotonic() - begun + len(missing) * scenario.expected_s > budget_s:
                    return
                self._extend(missing)
                if settled(record) or all(_is_hopeless(run, record) for run in missing):
                    open_ones.remove(scenario)

    def _extend(self, runs: Sequence[PlannedRun]) -> None:
        self.progress.extend(runs)
        self._round(runs)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """One round of one scenario, again if the machine was disturbed."""
        for attempt in range(1 + MOST_REPEATS):
            made = [measurement for run in runs if (measurement := self._one(run)) is not None]
            if runs[:1] and runs[0].round == WARM_UP:
                return
            if attempt == MOST_REPEATS or not any(DISTURBED in measurement.marks for measurement in made):
                return
            record = self.records[runs[0].scenario.name]
            for measurement in made:
                record.measurements.remove(measurement)
                record.add(_set_aside(measurement))
            self.progress.extend(runs)

    def _one(self, planned: PlannedRun) -> Measurement | None:
        record = self.records[planned.scenario.name]
        if _is_hopeless(planned, record):
            self.progress.skip(planned)
            return None
        self.progress.begin(planned)
        result = self.measurer.measure(planned)
        if planned.round != WARM_UP or isinstance(result, Outcome):
            record.add(result)
            results.write(record, self.folder)
        self.progress.end(planned, result)
        return result if isinstance(result, Measurement) else None


@contextmanager
def exclusive(folder: Path, cache: Cache) -> Iterator[None]:
    """Keeps a second comparison out of a results folder. Raises ``UsageError`` where one is at work there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--results {str(folder)!r} is no folder that can be written to: {error.strerror}.") from error
    key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    lock = FileLock(cache.lock_file(f"results-{key}"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            f"Another comparison is writing to {str(folder)!r}. Wait for it, or name another folder with --results."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _is_done(planned: PlannedRun, record: Record) -> bool:
    return any(run.round == planned.round for run in record.of(planned.label))


def _is_hopeless(planned: PlannedRun, record: Record) -> bool:
    if record.of(planned.label):
        return False
    reasons = [outcome.reason for outcome in record.outcomes if outcome.label == planned.label]
    failures = [reason for reason in reasons if reason not in HARMLESS]
    return NOT_SUPPORTED in reasons or TIMED_OUT in reasons or len(failures) >= GIVE_UP_AFTER


def _set_aside(measurement: Measurement) -> Outcome:
    others_s = measurement.metrics["machine_foreign_cpu"] + measurement.metrics["machine_steal"]
    return Outcome(
        measurement.label, measurement.round, measurement.position, measurement.started_at, DISTURBED,
        f"others used {others_s:.2f} s of CPU during this round of {measurement.metrics['time_wall_clock']:.2f} s runs", "",
    )  # fmt: skip
