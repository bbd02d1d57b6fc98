"""Carries out a plan: one run after the other, each kept before the next begins."""

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from msgspec import structs

from waitbench.execution import plan
from waitbench.execution.measure import Measurer
from waitbench.model.record import Record
from waitbench.model.run import (
    DISTURBED,
    WARM_UP,
    Measurement,
    Outcome,
    PlannedRun,
    Result,
    set_aside,
)
from waitbench.model.scenario import Scenario
from waitbench.system.machine import cpus
from waitbench.system.watch import foreign_cores, is_disturbed


class Guide(Protocol):
    """Who decides which rounds are still worth making."""

    def wants_more(self, scenario: str) -> bool:
        """Whether more rounds of a scenario would change anything that matters."""

    def is_over(self) -> bool:
        """Whether nothing more need be measured at all."""


ROUNDS_AT_ONCE = 4
"""At the most, where the baseline idles."""
IDLE_SHARE = 0.25
"""Of all CPUs: what their runs may use in their windows, if each uses what the baseline does."""
BUSY_AFTER = 3
"""Rounds that were disturbed in every attempt, until none is repeated any more."""


class Observer(Protocol):
    """Who is told what happens."""

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """More runs will follow those known so far.

        Where others may follow these, all of them together take no more than ``at_most_s`` seconds.
        """

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        """A round is made again, as others used so many cores during it."""

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


@dataclass
class Session:
    """Runs of several scenarios and what came of them."""

    measurer: Measurer
    records: Mapping[str, Record]
    """By scenario; these grow."""
    observer: Observer
    side_by_side: Collection[str] = ()
    """The scenarios of which a round's runs may take place at once, if the baseline idles."""
    _ran_last: frozenset[str] = field(default=frozenset(), init=False)
    """The labels of the run before, or of the runs, whatever their scenario."""
    _ran_before_baseline: frozenset[str] = field(default=frozenset(), init=False)
    """The same as the baseline was last run."""

    def carry_out(self, runs: Sequence[PlannedRun]) -> None:
        """Runs what a plan says, in its order, round by round."""
        self.observer.extend(runs)
        last = {run.scenario.name: run for run in runs}
        for (name, _), grouped in groupby(runs, key=lambda run: (run.scenario.name, run.round)):
            one_round = list(grouped)
            self._round(one_round)
            if one_round[-1] is last[name]:
                self.observer.complete(self.records[name])

    def carry_out_until(
        self,
        guide: Guide,
        groups: Sequence[Sequence[Scenario]],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
    ) -> None:
        """Adds rounds to each scenario until the guide wants no more, or the budget is spent.

        One group comes after the other. Within a group scenarios take turns, so that a budget that
        runs out leaves all of them with about as many rounds; no group takes more than an equal
        share of the time that is left. There is one warm-up of each revision for all scenarios.
        """
        begun = time.monotonic()
        rounds_s = [len(labels) * one.expected_s for group in groups for one in group]
        end = begun + min(budget_s, max(rounds_s, default=0.0) + most_rounds * sum(rounds_s))
        first = next((one for group in groups for one in group if guide.wants_more(one.name)), None)
        if first is not None:
            self._extend(plan.one_round(first, labels, WARM_UP), end)
        for number, group in enumerate(groups):
            left_s = begun + budget_s - time.monotonic()
            unsettled = dict(enumerate(group))
            share_s = left_s / (len(groups) - number)
            self._take_turns(guide, unsettled, labels, most_rounds, share_s, end)
            for scenario in unsettled.values():
                self.observer.complete(self.records[scenario.name])

    def _take_turns(
        self,
        guide: Guide,
        unsettled: dict[int, Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
        end: float,
    ) -> None:
        """Adds rounds to scenarios, by their places, in turn; complete ones leave ``unsettled``.

        Neighbours have different orders, so that some runs of the baseline follow one of its own.
        By ``end`` all groups will be done, so far as can be known.
        """
        begun = time.monotonic()
        for number in range(1, most_rounds + 1):
            for place, scenario in list(unsettled.items()):
                if guide.is_over():
                    return
                record = self.records[scenario.name]
                # A resumed comparison has some rounds already, and others were made at once. What
                # failed meanwhile is not tried again: its round would be of two moments.
                tried: list[Result] = [*record.measurements]
                tried += record.outcomes[record.outcomes_before :]
                done = {(one.label, one.round) for one in tried}
                at_once = self._rounds_at_once(scenario.name)
                missing = [
                    run
                    for ahead in range(number, min(number + max(1, at_once), most_rounds + 1))
                    for run in plan.one_round(scenario, labels, ahead, place)
                    if (run.label, run.round) not in done
                ]
                is_due = missing and missing[0].round == number
                if is_due and guide.wants_more(scenario.name):
                    spent_s = time.monotonic() - begun
                    in_turn = 1 if at_once else len(missing)
                    if spent_s + in_turn * scenario.expected_s > budget_s:
                        return
                    self._extend(missing, end)
                # Another scenario's round may have settled what is judged of both together.
                if not (guide.wants_more(scenario.name) and _is_comparable(record)):
                    del unsettled[place]
                    self.observer.complete(record)

    def _extend(self, runs: Sequence[PlannedRun], end: float) -> None:
        self.observer.extend(runs, max(0.0, end - time.monotonic()))
        self._round(runs)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """One round of one scenario, or several at once; once more if other programs disturbed it.

        But not where the baseline's run came right after a candidate's: what was still at work then
        may be what that left behind, and a repeat would take back the run that it belongs to. Nor
        where they took place at once: others disturb all of them alike, and may do so for one.
        """
        if len(runs) > 1 and self._rounds_at_once(runs[0].scenario.name):
            self._run(runs)
            return
        for is_repeated in (False, True):
            results = [result for run in runs for result in self._run([run])]
            made = [one for one in results if isinstance(one, Measurement)]
            if not runs or runs[0].round == WARM_UP:
                return
            record = self.records[runs[0].scenario.name]
            label = record.context.labels[0]
            baseline = next((m for m in made if m.label == label), None)
            if baseline is None or not is_disturbed(baseline.metrics):
                return
            may_be_candidates = bool(self._ran_before_baseline - {label})
            # A repeat would take back what failed.
            has_failed = any(isinstance(one, Outcome) for one in results)
            if is_repeated or may_be_candidates or has_failed or self._is_busy():
                for one in made:
                    marked = structs.replace(one, marks=(*one.marks, DISTURBED))
                    self._replace(record, one, marked)
                return
            for one in made:
                self._replace(record, one, set_aside(one))
            self.observer.repeat(runs, foreign_cores([one.metrics for one in made]))

    def _rounds_at_once(self, scenario: str) -> int:
        """How many rounds may take place at once; 0 where even the runs of one take turns.

        The baseline's runs so far decide. A candidate has no say: one that works all the same has
        the CPUs that are left, and fails by what it uses. Beside a baseline that works it has not:
        kernels may share CPUs equally between runs, whatever each of them wants. But twice of what
        has half of all CPUs is more than any candidate can use.
        """
        record = self.records[scenario]
        labels = record.context.labels
        if scenario not in self.side_by_side or cpus() < len(labels):
            return 0
        used = [one.metrics.get("cpu_share_steady", math.inf) for one in record.of(labels[0])]
        if not used or cpus() <= 2 * min(used) < math.inf:
            return 1
        each = max(used) * len(labels)
        return sum(many * each <= IDLE_SHARE * cpus() for many in range(1, ROUNDS_AT_ONCE + 1))

    def _is_busy(self) -> bool:
        """Whether others use the machine so often that repeats would not help."""
        count = sum(len(record.disturbed_rounds) for record in self.records.values())
        return count >= BUSY_AFTER

    def _replace(self, record: Record, measurement: Measurement, result: Result) -> None:
        record.measurements.remove(measurement)
        record.add(result)
        self.observer.keep(record, result)

    def _run(self, runs: Sequence[PlannedRun]) -> Sequence[Result]:
        """Runs of one scenario that take place at once, but for those not worth another try."""
        record = self.records[runs[0].scenario.name]
        tried = [run for run in runs if record.why_given_up(run.label) is None]
        for planned in runs:
            (self.observer.begin if planned in tried else self.observer.skip)(planned)
        labels = frozenset(run.label for run in tried)
        if record.context.labels[0] in labels:
            self._ran_before_baseline = self._ran_last
        self._ran_last = labels or self._ran_last
        if len(tried) > 1:
            results = self.measurer.measure_together(tried)
        else:
            results = [self.measurer.measure(run) for run in tried]
        for planned, result in zip(tried, results, strict=True):
            if isinstance(result, Outcome) or planned.round != WARM_UP:
                record.add(result)
                self.observer.keep(record, result)
            self.observer.end(planned, result)
        return results


def _is_comparable(record: Record) -> bool:
    """Whether the baseline and some candidate may still be measured."""
    baseline, *candidates = (record.why_given_up(label) is None for label in record.context.labels)
    return baseline and any(candidates)
