"""Sessions carry out planned runs: each is saved before the next begins."""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from msgspec import structs

from waitbench.execution import concurrency, plan
from waitbench.execution.concurrency import Concurrency
from waitbench.execution.measure import InterruptedRuns, Measurer
from waitbench.model.metrics import OTHER_CPU, WINDOW
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    DISTURBED,
    INTERFERED,
    WARM_UP,
    FailedRun,
    Measurement,
    PlannedRun,
    Result,
    discard_as,
)
from waitbench.model.scenario import Scenario
from waitbench.system.machine import is_disturbed, other_cores

TURNS_TO_TELL = 2
"""Rounds in turns that must differ from concurrent ones, to have all take turns, if as many rounds
are made as are needed; of planned rounds one is enough."""
BUSY_AFTER = 3
"""After so many disturbed rounds none is repeated any more."""
_NOT_READY = re.compile(r".*\bnot ready within [^ ]+ s")


class Observer(Protocol):
    """Receives the events of a session."""

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        """Runs will follow; with all runs after them, they take at most ``at_most_s`` seconds."""

    def repeat(self, runs: Sequence[PlannedRun], other_cores: float) -> None:
        """A round is repeated, as other programs used so many cores during it."""

    def begin(self, planned: PlannedRun) -> None: ...

    def end(self, planned: PlannedRun, result: Result) -> None: ...

    def skip(self, planned: PlannedRun) -> None:
        """A run will not take place."""


@dataclass
class Session:
    """Carries out runs of several scenarios."""

    measurer: Measurer
    records: Mapping[str, ScenarioResults]
    observer: Observer
    save: Callable[[ScenarioResults, Result], None]
    """Saves a new result of a record; a later one of the same run replaces it."""
    concurrency: Concurrency = field(default_factory=Concurrency)
    _windows: dict[str, float] = field(default_factory=dict, init=False)
    """Windows in s of scenarios whose worker files name none."""
    _first_runs: dict[str, Measurement] = field(default_factory=dict, init=False)
    """The baseline's first run of scenarios, which warms up, or finds a window; it is not saved."""
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
            most = self._concurrent_rounds(scenario) if is_joined else 1
            while rounds and rounds[0][0].scenario is scenario and len(_rounds(batch)) < most:
                batch += rounds.popleft()
            self._round(batch)
            again = self._set_aside(self.records[scenario.name], 1)
            anew = [run for run in runs if run.scenario is scenario and run.round in again]
            self.observer.extend(anew)
            rounds.extendleft(reversed(_rounds(anew)))

    def carry_out_while(
        self,
        wants_more: Callable[[str], bool],
        groups: Sequence[Sequence[Scenario]],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
        stops: Callable[[int], Sequence[int]] = lambda _scenarios: (),
    ) -> None:
        """Adds rounds to each scenario while more are wanted of it, or the budget is spent.

        Concurrent rounds end at the numbers of rounds after which so many scenarios may be settled:
        ``stops``.

        Groups follow each other, each with an equal share of the time left. Within a group
        scenarios take turns, so that all have about as many rounds when time runs out. All
        scenarios share one warm-up of each revision. A first run of the baseline finds the window
        of a scenario without one.
        """
        begun = time.monotonic()
        scenarios = [scenario for group in groups for scenario in group]
        rounds_s = [len(labels) * scenario.expected_s for scenario in scenarios]
        end = begun + min(budget_s, max(rounds_s, default=0.0) + most_rounds * sum(rounds_s))
        first = next((it for it in scenarios if wants_more(it.name)), None)
        if first is not None:
            # The run that finds a window warms up the baseline.
            finds_window = not (first.has_window or self.records[first.name].of(labels[0]))
            if cold := labels[finds_window:]:
                self._extend(plan.one_round(first, cold, WARM_UP, seed=self.seed), end)
        for number, group in enumerate(groups):
            left_s = begun + budget_s - time.monotonic()
            share_s = left_s / (len(groups) - number)
            self._take_turns(
                wants_more, group, labels, most_rounds, share_s, end, stops(len(group))
            )

    def _take_turns(
        self,
        wants_more: Callable[[str], bool],
        group: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
        end: float,
        stops: Sequence[int],
    ) -> None:
        """Adds rounds to the scenarios of a group in turn; all groups are done by ``end``, as
        expected.

        Neighbours have different orders, so that some runs of the baseline follow another of its
        own. Concurrent rounds of several scenarios share a batch, as far as each fits: ``load`` is
        the part of the machine's capacity that they use.
        """
        begun, unsettled, number = time.monotonic(), dict(enumerate(group)), 0
        self._find_windows([it for it in group if wants_more(it.name)], end)
        while unsettled:
            number += 1
            batch, load = list[PlannedRun](), 0.0
            for place, named in list(unsettled.items()):
                record = self.records[named.name]
                self._set_aside(record, TURNS_TO_TELL)
                left = self._left(record, labels, most_rounds)
                # Another scenario's round may have settled a question about both together.
                is_open = wants_more(named.name) or self.concurrency.differing(record)
                if not (left and is_open and self._is_comparable(record)):
                    del unsettled[place]
                elif min(left) <= number:
                    scenario = self._with_window(named, end)
                    at_once = self._concurrent_rounds(scenario)
                    runs = [
                        run
                        for ahead in _until_stop(sorted(left), max(1, at_once), stops)
                        for run in plan.one_round(scenario, labels, ahead, place, self.seed)
                        if run.label in left[ahead]
                    ]
                    is_joined = at_once > 0 and scenario.is_staggered
                    share = len(_rounds(runs)) / at_once if is_joined else math.inf
                    if batch and load + share > 1:
                        self._extend(batch, end)
                        batch, load = [], 0.0
                    lasts_s = _lasts_s([*batch, *runs], is_concurrent=at_once > 0)
                    if time.monotonic() - begun + lasts_s > budget_s:
                        self._extend(batch, end)
                        return
                    batch, load = [*batch, *runs], load + share
                    if not is_joined:
                        self._extend(batch, end)
                        batch, load = [], 0.0
            self._extend(batch, end)

    def _left(
        self, record: ScenarioResults, labels: Sequence[str], most_rounds: int
    ) -> dict[int, set[str]]:
        """Returns the rounds still to be made, each with the revisions that it lacks.

        Resumed comparisons have some runs, concurrent rounds others. A failed run is not retried:
        its round would mix two points in time. Crowded ones are.
        """
        tried: list[Result] = [*record.measurements]
        tried += [it for it in record.outcomes[record.outcomes_before :] if it.reason != INTERFERED]
        done = {(result.label, result.round) for result in tried}
        able = [label for label in labels if not self._is_given_up(record, label)]
        left = {
            number: {label for label in able if (label, number) not in done}
            for number in range(1, most_rounds + 1)
        }
        return {number: lacking for number, lacking in left.items() if lacking}

    def _is_comparable(self, record: ScenarioResults) -> bool:
        labels = record.context.labels
        baseline, *candidates = (not self._is_given_up(record, label) for label in labels)
        return baseline and (any(candidates) or not candidates)

    def _is_given_up(self, record: ScenarioResults, label: str) -> bool:
        """Whether a revision gets no more runs of a scenario, or of any.

        Of any if two scenarios failed alike to become ready: all others would wait in vain.
        """
        records = self.records.values()
        waited = {
            (it.scenario, match[0])
            for it in records
            for outcome in it.outcomes[it.outcomes_before :]
            if outcome.label == label and outcome.reason != INTERFERED
            if (match := _NOT_READY.match(outcome.message))
        }
        is_never_ready = len(waited) > len({why for _, why in waited})
        has_run = any(it.of(label) for it in records)
        return (is_never_ready and not has_run) or record.why_given_up(label) is not None

    def _find_windows(self, scenarios: Sequence[Scenario], end: float) -> None:
        """Finds the windows of scenarios together, where their runs may be concurrent."""
        lacking = [
            it
            for it in scenarios
            if not it.has_window
            and it.name in self.concurrency.scenarios
            and not self.records[it.name].measurements
        ]
        if lacking:
            self._find_window(lacking, end)

    def _find_window(self, scenarios: Sequence[Scenario], end: float) -> None:
        """Runs the baseline once in each scenario; runs that fail beside others tell nothing."""
        baseline = self.records[scenarios[0].name].context.labels[0]
        runs = [
            PlannedRun(scenario=it, label=baseline, round=WARM_UP, position=0) for it in scenarios
        ]
        self.observer.extend(runs, max(0.0, end - time.monotonic()))
        for planned, result in self._run(runs):
            name = planned.scenario.name
            if isinstance(result, Measurement):
                self._windows[name] = result.metrics.get(WINDOW, 0.0)
            elif len(runs) == 1:
                self._windows[name] = 0.0

    def _with_window(self, scenario: Scenario, end: float) -> Scenario:
        """Gives a scenario without a window that of the baseline's first run."""
        name, record = scenario.name, self.records[scenario.name]
        if scenario.has_window:
            return scenario
        baseline = record.context.labels[0]
        if name not in self._windows and record.of(baseline):
            self._windows[name] = round(record.window_s(record.of(baseline)[0]) or 0.0, 1)
        if name not in self._windows:
            self._find_window([scenario], end)
        window_s = self._windows.get(name)
        return scenario.watched_for(window_s) if window_s else scenario.lasting(0.0)

    def _set_aside(self, record: ScenarioResults, fewest: int) -> frozenset[int]:
        """Sets aside concurrent rounds if ``fewest`` in turns differ from them; returns them.

        All runs take turns from then on. A candidate that causes this gains nothing: each question
        is asked again.
        """
        concurrent = [run for run in record.measurements if CONCURRENT in run.marks]
        rounds = frozenset(run.round for run in concurrent)
        enough = len(record.interleaved_rounds) >= fewest
        cost = self.concurrency.differing(record) if enough else ""
        if not cost:
            return frozenset()
        for run in concurrent:
            why = f"{cost} differs from that of rounds one run at a time"
            self._replace(record, run, discard_as(run, INTERFERED, why))
        return rounds

    def _extend(self, runs: Sequence[PlannedRun], end: float) -> None:
        if runs:
            self.observer.extend(runs, max(0.0, end - time.monotonic()))
            self._round(runs)

    def _concurrent_rounds(self, scenario: Scenario) -> int:
        # A first batch of a phase needs rounds in turns of another one: runs may collide.
        has_turns = any(record.interleaved_rounds for record in self.records.values())
        first_run = self._first_runs.get(scenario.name) if has_turns else None
        record = self.records[scenario.name]
        return self.concurrency.concurrent_rounds(record, scenario, first_run)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """Makes one round of a scenario, or several rounds at once, also of several scenarios."""
        scenario, rounds = runs[0].scenario, _rounds(runs)
        is_possible = len(runs) > 1 and len(rounds) >= scenario.fewest_concurrent_rounds
        if not (is_possible and self._concurrent_rounds(scenario)):
            for round_runs in rounds:
                self._round_in_turns(round_runs)
            return
        # What disturbs concurrent runs disturbs them alike.
        interfered = {
            planned.scenario.name
            for planned, result in self._run(runs)
            if isinstance(result, FailedRun) and result.reason == INTERFERED
        }
        for round_runs in rounds:
            record = self._record(round_runs[0])
            if record.scenario in interfered and self._is_comparable(record):
                self.observer.extend(round_runs)
                self._round(round_runs)

    def _round_in_turns(self, runs: Sequence[PlannedRun], *, is_repeated: bool = False) -> None:
        """Makes one round, run by run; repeats it once if other programs disturbed it.

        Not repeated is a round whose baseline ran right after a candidate, as what the candidate
        left behind may have disturbed it, one with a failure, which a repeat would take back, nor
        one of a single revision, which is judged by limits.
        """
        results = [result for run in runs for _, result in self._run([run])]
        measured = [result for result in results if isinstance(result, Measurement)]
        record = self.records[runs[0].scenario.name]
        label, *candidates = record.context.labels
        baseline = next((run for run in measured if run.label == label), None)
        if runs[0].round == WARM_UP or baseline is None or not is_disturbed(baseline.metrics):
            return
        may_be_candidates = not candidates or bool(self._ran_before_baseline - {label})
        has_failed = len(measured) < len(results)
        disturbed = sum(len(record.disturbed_rounds) for record in self.records.values())
        if is_repeated or may_be_candidates or has_failed or disturbed >= BUSY_AFTER:
            for run in measured:
                self._replace(record, run, structs.replace(run, marks=(*run.marks, DISTURBED)))
            return
        for run in measured:
            why = (
                f"other programs used {run.metrics.get(OTHER_CPU, 0.0):.2f} s of CPU during "
                f"this run of {run.metrics['time_wall_clock']:.2f} s, or during another of its "
                "round"
            )
            self._replace(record, run, discard_as(run, DISTURBED, why))
        self.observer.repeat(runs, other_cores([run.metrics for run in measured]))
        self._round_in_turns(runs, is_repeated=True)

    def _run(self, runs: Sequence[PlannedRun]) -> Sequence[tuple[PlannedRun, Result]]:
        """Carries out one run, or concurrent runs, but for those not worth another try.

        If interrupted, saves those that were over.
        """
        tried = [run for run in runs if not self._is_given_up(self._record(run), run.label)]
        for planned in runs:
            (self.observer.begin if planned in tried else self.observer.skip)(planned)
        labels = frozenset(run.label for run in tried)
        if self._record(runs[0]).context.labels[0] in labels:
            self._ran_before_baseline = self._ran_last
        self._ran_last = labels or self._ran_last
        if len(tried) < 2:
            results = list(zip(tried, self.measurer.measure(*tried), strict=True))
        else:
            turn_s = max(
                concurrency.shutdown_turn_s(self._record(run), self._first_runs.get(scenario))
                for run in tried
                for scenario in [run.scenario.name]
            )
            try:
                measured = self.measurer.measure(*tried, turn_s=turn_s)
            except InterruptedRuns as ended:
                for planned, result in self._judged(ended.results):
                    self._add(self._record(planned), result)
                raise
            results = self._judged(list(zip(tried, measured, strict=True)))
        for planned, result in results:
            self._add(self._record(planned), result)
            self.observer.end(planned, result)
        return results

    def _judged(
        self, results: Sequence[tuple[PlannedRun, Result]]
    ) -> list[tuple[PlannedRun, Result]]:
        """Judges concurrent runs, scenario by scenario."""
        rounds, judged = len(_rounds(run for run, _ in results)), list[tuple[PlannedRun, Result]]()
        for _, group in groupby(results, key=lambda pair: pair[0].scenario.name):
            runs, measured = zip(*group, strict=True)
            record, scenario = self._record(runs[0]), runs[0].scenario
            verdicts = concurrency.judge(
                record, scenario, measured, rounds, self._runs_in_turns(record)
            )
            judged += zip(runs, verdicts, strict=True)
        return judged

    def _runs_in_turns(self, record: ScenarioResults) -> list[Measurement]:
        """Returns the runs of a scenario that took turns, or else those of all scenarios."""
        records = [record] if record.interleaved_rounds else self.records.values()
        return [
            run for it in records for run in it.measurements if run.round in it.interleaved_rounds
        ]

    def _record(self, run: PlannedRun) -> ScenarioResults:
        return self.records[run.scenario.name]

    def _add(self, record: ScenarioResults, result: Result) -> None:
        if isinstance(result, FailedRun) or result.round != WARM_UP:
            record.add(result)
            self.save(record, result)
        elif result.label == record.context.labels[0]:
            self._first_runs[record.scenario] = result

    def _replace(self, record: ScenarioResults, measurement: Measurement, result: Result) -> None:
        record.measurements.remove(measurement)
        record.add(result)
        self.save(record, result)


def _until_stop(left: Sequence[int], at_once: int, stops: Sequence[int]) -> Sequence[int]:
    """Returns the next rounds: at most so many at once, in equal parts until the next stop."""
    stop = next((it for it in stops if it >= left[0]), left[-1])
    ahead = [number for number in left if number <= stop]
    return ahead[: math.ceil(len(ahead) / math.ceil(len(ahead) / at_once))]


def _lasts_s(runs: Sequence[PlannedRun], *, is_concurrent: bool) -> float:
    """Estimates the time of runs; concurrent ones take turns for a part of it."""
    if not is_concurrent:
        return sum(run.scenario.expected_s for run in runs)
    shared_s = (run.scenario.expected_s - run.scenario.staggered_s for run in runs)
    return max(shared_s) + sum(run.scenario.staggered_s for run in runs)


def _rounds(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    by_round = groupby(runs, key=lambda run: (run.scenario.name, run.round))
    return [list(group) for _, group in by_round]
