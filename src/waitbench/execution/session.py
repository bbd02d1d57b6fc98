"""Carries out a plan: one run after the other, each kept before the next begins."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from waitbench.execution import plan
from waitbench.execution.measure import Measurer
from waitbench.model.record import Record
from waitbench.model.run import (
    DISTURBED,
    HARMLESS,
    NOT_SUPPORTED,
    TIMED_OUT,
    WARM_UP,
    Measurement,
    Outcome,
    PlannedRun,
    Result,
    set_aside,
)
from waitbench.model.scenario import Scenario

GIVE_UP_AFTER = 2
"""Failed runs of one revision in one scenario, without a good one before, until it is given up.

A run that hung is not tried again at all: its time limit is generous, and waiting for it is what
costs the user most.
"""

MOST_REPEATS = 2
"""How often a disturbed round is repeated; the last attempt is kept, with its mark."""


class Observer(Protocol):
    """Who is told what happens."""

    def extend(self, runs: Sequence[PlannedRun]) -> None:
        """More runs will follow those known so far."""

    def begin(self, planned: PlannedRun) -> None:
        """A run is about to start."""

    def end(self, planned: PlannedRun, result: Result) -> None:
        """The run that began is over."""

    def skip(self, planned: PlannedRun) -> None:
        """A run will not take place."""

    def keep(self, record: Record, result: Result) -> None:
        """A result belongs to the record now; a later one of the same run replaces it."""

    def complete(self, record: Record) -> None:
        """Nothing more will be added to a record."""


@dataclass(frozen=True)
class Session:
    """Runs of several scenarios and what came of them."""

    measurer: Measurer
    records: Mapping[str, Record]
    """By scenario; these grow."""
    observer: Observer

    def carry_out(self, runs: Sequence[PlannedRun]) -> None:
        """Runs what a plan says, scenario by scenario, round by round."""
        self.observer.extend(runs)
        for name, of_scenario in groupby(runs, key=lambda run: run.scenario.name):
            for _, one_round in groupby(of_scenario, key=lambda run: run.round):
                self._round(list(one_round))
            self.observer.complete(self.records[name])

    def carry_out_until(
        self,
        settled: Callable[[Record], bool],
        chosen: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
    ) -> None:
        """Adds rounds to each scenario until it is settled, or its rounds or the budget are spent.

        Scenarios take turns, so that a budget that runs out leaves all of them with about as many
        rounds. There is one warm-up of each revision for all scenarios.
        """
        begun = time.monotonic()
        unsettled = []
        for scenario in chosen:
            if settled(self.records[scenario.name]):
                self.observer.complete(self.records[scenario.name])
            else:
                unsettled.append(scenario)
        if unsettled:
            self._extend(plan.one_round(unsettled[0], labels, WARM_UP))
        for number in range(1, most_rounds + 1):
            for scenario in list(unsettled):
                record = self.records[scenario.name]
                # A resumed comparison has some rounds already.
                one_round = plan.one_round(scenario, labels, number)
                missing = [run for run in one_round if not _is_done(run, record)]
                if time.monotonic() - begun + len(missing) * scenario.expected_s > budget_s:
                    self._complete(unsettled)
                    return
                self._extend(missing)
                if settled(record) or all(_is_hopeless(run, record) for run in missing):
                    unsettled.remove(scenario)
                    self.observer.complete(record)
        self._complete(unsettled)

    def _complete(self, chosen: Sequence[Scenario]) -> None:
        for scenario in chosen:
            self.observer.complete(self.records[scenario.name])

    def _extend(self, runs: Sequence[PlannedRun]) -> None:
        self.observer.extend(runs)
        self._round(runs)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """One round of one scenario, again if the machine was disturbed."""
        for attempt in range(1 + MOST_REPEATS):
            made = [result for run in runs if isinstance(result := self._run(run), Measurement)]
            if runs[:1] and runs[0].round == WARM_UP:
                return
            if attempt == MOST_REPEATS or not any(DISTURBED in one.marks for one in made):
                return
            record = self.records[runs[0].scenario.name]
            for measurement in made:
                outcome = set_aside(measurement)
                record.replace(measurement, outcome)
                self.observer.keep(record, outcome)
            self.observer.extend(runs)

    def _run(self, planned: PlannedRun) -> Result | None:
        record = self.records[planned.scenario.name]
        if _is_hopeless(planned, record):
            self.observer.skip(planned)
            return None
        self.observer.begin(planned)
        result = self.measurer.measure(planned)
        if planned.round != WARM_UP or isinstance(result, Outcome):
            record.add(result)
            self.observer.keep(record, result)
        self.observer.end(planned, result)
        return result


def _is_done(planned: PlannedRun, record: Record) -> bool:
    return any(run.round == planned.round for run in record.of(planned.label))


def _is_hopeless(planned: PlannedRun, record: Record) -> bool:
    if record.of(planned.label):
        return False
    reasons = [outcome.reason for outcome in record.outcomes if outcome.label == planned.label]
    failures = [reason for reason in reasons if reason not in HARMLESS]
    return NOT_SUPPORTED in reasons or TIMED_OUT in reasons or len(failures) >= GIVE_UP_AFTER
