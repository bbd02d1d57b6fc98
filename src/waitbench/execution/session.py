"""Carries out plans: run by run, each saved before the next begins."""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from msgspec import structs

from waitbench.execution import plan
from waitbench.execution.measure import Interrupted, Measurer
from waitbench.model.metrics import FOREIGN_ALLOWED_S, FOREIGN_CPU, STEAL, WINDOW
from waitbench.model.record import Record
from waitbench.model.run import (
    CROWDED,
    DISTURBED,
    SIDE_BY_SIDE,
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


class StoppingRule(Protocol):
    """Decides which rounds are still worth making."""

    def wants_more(self, scenario: str) -> bool:
        """Whether more rounds of a scenario could change a result."""

    def is_over(self) -> bool:
        """Whether nothing more need be measured at all."""


ROUNDS_AT_ONCE = 4
"""The most, where the baseline idles."""
IDLE_SHARE = 0.25
"""Share of all CPUs that concurrent runs may use in their windows, if all cost as the baseline."""
MIN_SHUTDOWN_TURN_S = 0.1
"""Twice a baseline's CPU time of shutdown is added; a candidate that works longer fails by it."""
TURNS_TO_TELL = 2
"""Rounds in turns that must differ from concurrent ones, to have all take turns, if a rule asks for
as many rounds as it needs; of planned rounds one is enough."""
BUSY_AFTER = 3
"""After so many disturbed rounds none is repeated any more."""
_NOT_READY = re.compile(r".*\bnot ready within [^ ]+ s")


class Observer(Protocol):
    """Receives the events of a session."""

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """Runs will follow; with all runs after them, they take at most ``at_most_s`` seconds."""

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        """A round is repeated, as other programs used so many cores during it."""

    def begin(self, planned: PlannedRun) -> None:
        """A run is about to start."""

    def end(self, planned: PlannedRun, result: Result) -> None:
        """The run that began is over."""

    def skip(self, planned: PlannedRun) -> None:
        """A run will not take place."""

    def keep(self, record: Record, result: Result) -> None:
        """A result was added to the record; a later one of the same run replaces it."""


@dataclass
class Session:
    """Carries out runs of several scenarios."""

    measurer: Measurer
    records: Mapping[str, Record]
    observer: Observer
    side_by_side: Collection[str] = ()
    """Scenarios whose runs may be concurrent if the baseline idles."""
    differing: Callable[[Record], str] = lambda _record: ""
    """Names the cost by which rounds in turns differ from concurrent ones, if any."""
    _windows: dict[str, float] = field(default_factory=dict, init=False)
    """Windows in s of scenarios whose worker files name none."""
    _ran_last: frozenset[str] = field(default=frozenset(), init=False)
    """Labels of the previous run, or of its concurrent runs."""
    _ran_before_baseline: frozenset[str] = field(default=frozenset(), init=False)
    """Labels of the runs before the baseline's last."""

    @property
    def seed(self) -> str:
        """Seeds the drawn order of runs."""
        return next((record.context.started_at for record in self.records.values()), "")

    def carry_out(self, runs: Sequence[PlannedRun]) -> None:
        self.observer.extend(runs)
        rounds = deque(_rounds(runs))
        while rounds:
            batch = rounds.popleft()
            scenario = batch[0].scenario
            # Planned rounds are joined only where one round may not be concurrent by itself.
            is_joined = scenario.fewest_concurrent_rounds > 1 and batch[0].round != WARM_UP
            most = self._rounds_at_once(scenario) if is_joined else 1
            while rounds and rounds[0][0].scenario is scenario and len(_rounds(batch)) < most:
                batch += rounds.popleft()
            self._round(batch)
            again = self._set_aside(self.records[scenario.name], 1)
            anew = [run for run in runs if run.scenario is scenario and run.round in again]
            self.observer.extend(anew)
            rounds.extendleft(reversed(_rounds(anew)))

    def carry_out_until(
        self,
        rule: StoppingRule,
        groups: Sequence[Sequence[Scenario]],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
    ) -> None:
        """Adds rounds to each scenario until the rule wants no more, or the budget is spent.

        Groups follow each other, each with an equal share of the time left. Within a group
        scenarios take turns, so that all have about as many rounds when time runs out. All
        scenarios share one warm-up of each revision. A first run of the baseline finds the window
        of a scenario without one.
        """
        begun = time.monotonic()
        scenarios = [scenario for group in groups for scenario in group]
        rounds_s = [len(labels) * scenario.expected_s for scenario in scenarios]
        end = begun + min(budget_s, max(rounds_s, default=0.0) + most_rounds * sum(rounds_s))
        first = next((it for it in scenarios if rule.wants_more(it.name)), None)
        if first is not None:
            # The run that finds a window warms up the baseline.
            finds_window = not (first.has_window or self.records[first.name].of(labels[0]))
            if cold := labels[finds_window:]:
                self._extend(plan.one_round(first, cold, WARM_UP, seed=self.seed), end)
        for number, group in enumerate(groups):
            left_s = begun + budget_s - time.monotonic()
            share_s = left_s / (len(groups) - number)
            self._take_turns(rule, group, labels, most_rounds, share_s, end)

    def _take_turns(
        self,
        rule: StoppingRule,
        group: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
        end: float,
    ) -> None:
        """Adds rounds to the scenarios of a group in turn; all groups are done by ``end``, as
        expected.

        Neighbours have different orders, so that some runs of the baseline follow another of its
        own.
        """
        begun, unsettled, number = time.monotonic(), dict(enumerate(group)), 0
        while unsettled:
            number += 1
            for place, named in list(unsettled.items()):
                if rule.is_over():
                    return
                record = self.records[named.name]
                self._set_aside(record, TURNS_TO_TELL)
                left = self._left(record, labels, most_rounds)
                # Another scenario's round may have settled a question about both together.
                is_open = rule.wants_more(named.name) or self.differing(record)
                if not (left and is_open and self._is_comparable(record)):
                    del unsettled[place]
                elif min(left) <= number:
                    scenario = self._with_window(named, end)
                    at_once = self._rounds_at_once(scenario)
                    runs = [
                        run
                        for ahead in sorted(left)[: max(1, at_once)]
                        for run in plan.one_round(scenario, labels, ahead, place, self.seed)
                        if run.label in left[ahead]
                    ]
                    count = len(runs)
                    lasts_s = (
                        scenario.concurrent_s(count) if at_once else count * scenario.expected_s
                    )
                    if time.monotonic() - begun + lasts_s > budget_s:
                        return
                    self._extend(runs, end)

    def _left(self, record: Record, labels: Sequence[str], most_rounds: int) -> dict[int, set[str]]:
        """Returns the rounds still to be made, each with the revisions that it lacks.

        Resumed comparisons have some runs, concurrent rounds others. A failed run is not retried:
        its round would mix two points in time. Crowded ones are.
        """
        tried: list[Result] = [*record.measurements]
        tried += [it for it in record.outcomes[record.outcomes_before :] if it.reason != CROWDED]
        done = {(result.label, result.round) for result in tried}
        able = [label for label in labels if not self._is_given_up(record, label)]
        left = {
            number: {label for label in able if (label, number) not in done}
            for number in range(1, most_rounds + 1)
        }
        return {number: lacking for number, lacking in left.items() if lacking}

    def _is_comparable(self, record: Record) -> bool:
        labels = record.context.labels
        baseline, *candidates = (not self._is_given_up(record, label) for label in labels)
        return baseline and (any(candidates) or not candidates)

    def _is_given_up(self, record: Record, label: str) -> bool:
        """Whether a revision gets no more runs of a scenario, or of any.

        Of any if two scenarios failed alike to become ready: all others would wait in vain.
        """
        records = self.records.values()
        waited = {
            (it.scenario, match[0])
            for it in records
            for outcome in it.outcomes[it.outcomes_before :]
            if (match := _NOT_READY.match(outcome.message)) and outcome.label == label
        }
        is_never_ready = len(waited) > len({why for _, why in waited})
        has_run = any(it.of(label) for it in records)
        return (is_never_ready and not has_run) or record.why_given_up(label) is not None

    def _with_window(self, scenario: Scenario, end: float) -> Scenario:
        """Gives a scenario without a window that of the baseline's first run."""
        name, record = scenario.name, self.records[scenario.name]
        if scenario.has_window:
            return scenario
        baseline = record.context.labels[0]
        if name not in self._windows and record.of(baseline):
            self._windows[name] = round(record.window_s(record.of(baseline)[0]) or 0.0, 1)
        if name not in self._windows:
            planned = PlannedRun(scenario=scenario, label=baseline, round=WARM_UP, position=0)
            self.observer.extend([planned], max(0.0, end - time.monotonic()))
            for result in self._run([planned]):
                metrics = result.metrics if isinstance(result, Measurement) else {}
                self._windows[name] = metrics.get(WINDOW, 0.0)
        window_s = self._windows.get(name)
        return scenario.watched_for(window_s) if window_s else scenario.lasting(0.0)

    def _set_aside(self, record: Record, fewest: int) -> frozenset[int]:
        """Sets aside concurrent rounds if ``fewest`` in turns differ from them; returns them.

        All runs take turns from then on. A candidate that causes this gains nothing: each question
        is asked again.
        """
        beside = [run for run in record.measurements if SIDE_BY_SIDE in run.marks]
        rounds = frozenset(run.round for run in beside)
        cost = self.differing(record) if len(record.rounds - rounds) >= fewest else ""
        if not cost:
            return frozenset()
        for run in beside:
            why = f"{cost} differs from that of rounds one run at a time"
            self._replace(record, run, set_aside(run, CROWDED, why))
        return rounds

    def _extend(self, runs: Sequence[PlannedRun], end: float) -> None:
        self.observer.extend(runs, max(0.0, end - time.monotonic()))
        self._round(runs)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """Makes one round of one scenario, or several at once; repeats one that others disturbed.

        Not repeated is a round whose baseline ran right after a candidate, as what the candidate
        left behind may have disturbed it, nor one of a single revision, which is judged by limits.
        Concurrent rounds are disturbed alike.
        """
        scenario = runs[0].scenario
        may_be_concurrent = (
            len(runs) > 1 and len(_rounds(runs)) >= scenario.fewest_concurrent_rounds
        )
        if may_be_concurrent and self._rounds_at_once(scenario):
            results = self._run(runs)
            if any(isinstance(it, Outcome) and it.reason == CROWDED for it in results):
                self.observer.extend(runs)
                for round_runs in _rounds(runs):
                    self._round(round_runs)
            return
        for is_repeated in (False, True):
            results = [result for run in runs for result in self._run([run])]
            if runs[0].round == WARM_UP:
                return
            measured = [result for result in results if isinstance(result, Measurement)]
            record = self.records[scenario.name]
            label, *candidates = record.context.labels
            baseline = next((run for run in measured if run.label == label), None)
            if baseline is None or not is_disturbed(baseline.metrics):
                return
            may_be_candidates = not candidates or bool(self._ran_before_baseline - {label})
            # A repeat would take back what failed.
            has_failed = len(measured) < len(results)
            disturbed = sum(len(record.disturbed_rounds) for record in self.records.values())
            is_busy = disturbed >= BUSY_AFTER
            if is_repeated or may_be_candidates or has_failed or is_busy:
                for run in measured:
                    marked = structs.replace(run, marks=(*run.marks, DISTURBED))
                    self._replace(record, run, marked)
                return
            for run in measured:
                why = (
                    f"other programs used {run.metrics.get(FOREIGN_CPU, 0.0):.2f} s of CPU during "
                    f"this run of {run.metrics['time_wall_clock']:.2f} s, or during another of its "
                    "round"
                )
                self._replace(record, run, set_aside(run, DISTURBED, why))
            self.observer.repeat(runs, foreign_cores([run.metrics for run in measured]))

    def _rounds_at_once(self, scenario: Scenario) -> int:
        """Returns how many rounds may be concurrent; 0 where even runs of one round take turns.

        The baseline's runs decide. A candidate that works uses the CPUs that are left, and fails by
        it; if the baseline is busy, no CPUs are left, and the kernel might share them equally. But
        twice as much as half of all CPUs is more than any candidate can use. Whether a worker
        file's baseline idles is unknown before its first round, and a single revision is judged by
        limits: these take turns. So does a round after one that differs from concurrent ones.
        """
        record = self.records[scenario.name]
        labels = record.context.labels
        is_possible = scenario.name in self.side_by_side and 1 < len(labels) <= cpus()
        if not is_possible or _takes_turns(record) or self.differing(record):
            return 0
        used = [_cores(run, scenario) for run in record.of(labels[0])]
        most = 1
        if used and not cpus() <= 2 * min(used) < math.inf:
            each = max(used) * len(labels)
            most = sum(many * each <= IDLE_SHARE * cpus() for many in range(1, ROUNDS_AT_ONCE + 1))
        return most if most >= scenario.fewest_concurrent_rounds else 0

    def _measure_at_once(self, record: Record, runs: Sequence[PlannedRun]) -> list[Result]:
        """Carries out runs concurrently; saves those that were over if interrupted."""
        baseline = record.context.labels[0]
        used_s = [run.metrics.get("time_cpu_shutdown", math.inf) for run in record.of(baseline)]
        turn_s = MIN_SHUTDOWN_TURN_S + 2 * max(used_s, default=math.inf)
        try:
            return _judge_concurrent(record, runs, self.measurer.measure_together(runs, turn_s))
        except Interrupted as ended:
            for result in _judge_concurrent(record, runs, ended.results):
                self._add(record, result)
            raise

    def _add(self, record: Record, result: Result) -> None:
        if isinstance(result, Outcome) or result.round != WARM_UP:
            record.add(result)
            self.observer.keep(record, result)

    def _replace(self, record: Record, measurement: Measurement, result: Result) -> None:
        record.measurements.remove(measurement)
        record.add(result)
        self.observer.keep(record, result)

    def _run(self, runs: Sequence[PlannedRun]) -> Sequence[Result]:
        """Carries out concurrent runs of one scenario, but for those not worth another try."""
        record = self.records[runs[0].scenario.name]
        tried = [run for run in runs if not self._is_given_up(record, run.label)]
        for planned in runs:
            (self.observer.begin if planned in tried else self.observer.skip)(planned)
        labels = frozenset(run.label for run in tried)
        if record.context.labels[0] in labels:
            self._ran_before_baseline = self._ran_last
        self._ran_last = labels or self._ran_last
        if len(tried) > 1:
            results = self._measure_at_once(record, tried)
        else:
            results = [self.measurer.measure(run) for run in tried]
        for planned, result in zip(tried, results, strict=True):
            self._add(record, result)
            self.observer.end(planned, result)
        return results


def _rounds(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    by_round = groupby(runs, key=lambda run: (run.scenario.name, run.round))
    return [list(group) for _, group in by_round]


def _cores(run: Measurement, scenario: Scenario) -> float:
    """Returns how many CPUs a run used in its window, with services; infinite if unknown."""
    services_s = run.metrics.get("service_cpu_idle", 0.0)
    window_s = run.metrics.get(WINDOW) or float(scenario.parameters.get("window", math.inf))
    return run.metrics.get("cpu_share_idle", math.inf) + services_s / window_s


def _judge_concurrent(
    record: Record, runs: Sequence[PlannedRun], results: Sequence[Result]
) -> list[Result]:
    """Judges concurrent runs; runs of their scenario take turns once anything is set aside here.

    Where runs may collide, a failure or unanswered poke that is new in the first batch sets aside
    the batch, and CPU of other programs above the allowance is unset. A candidate can cause either
    and gains nothing: in turns it faces the same questions, and nothing concurrent had counted
    before the first batch.
    """
    may_collide = runs[0].scenario.fewest_concurrent_rounds > 1
    in_turns = [run for run in record.measurements if SIDE_BY_SIDE not in run.marks]
    complete = {run.label for run in in_turns if not run.incomplete}
    failed = [
        f"a run of {result.label} failed beside others: {why}"
        for result in results
        if isinstance(result, Outcome) or result.label in complete
        for why in (
            [result.message]
            if isinstance(result, Outcome)
            else [lack.why for lack in result.incomplete.values()]
        )
    ]
    if failed and may_collide and len(in_turns) == len(record.measurements):
        return [set_aside(result, CROWDED, failed[0]) for result in results]
    rounds = len(_rounds(runs)) if may_collide else math.inf
    return [it if isinstance(it, Outcome) else _marked_concurrent(it, rounds) for it in results]


def _marked_concurrent(run: Measurement, rounds: float) -> Measurement:
    metrics = dict(run.metrics)
    if metrics.get(FOREIGN_CPU, 0.0) > rounds * FOREIGN_ALLOWED_S:
        del metrics[FOREIGN_CPU]
    return structs.replace(run, metrics=metrics, marks=(*run.marks, SIDE_BY_SIDE))


def _takes_turns(record: Record) -> bool:
    """Whether concurrent runs have shown that they must take turns: see ``_judge_concurrent``."""
    return any(outcome.reason == CROWDED for outcome in record.outcomes) or any(
        # An interrupted batch has neither metric.
        SIDE_BY_SIDE in run.marks and STEAL in run.metrics and FOREIGN_CPU not in run.metrics
        for run in record.measurements
    )
