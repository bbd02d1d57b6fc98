"""Sessions carry out planned runs, and save each result before the next run begins."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, takewhile
from typing import Protocol

from msgspec import structs

from waitbench.execution import concurrency, plan
from waitbench.execution.concurrency import Concurrency
from waitbench.execution.measure import InterruptedRuns, Measurer
from waitbench.model.metrics import OTHER_CPU
from waitbench.model.record import ScenarioResults, why_given_up
from waitbench.model.run import (
    DISTURBED,
    INTERFERED,
    WARM_UP,
    Measurement,
    PlannedRun,
    Result,
    discard_as,
)
from waitbench.model.scenario import Scenario
from waitbench.system.machine import USUAL_TOLERATED, is_disturbed, usual_load

FEWEST_INTERLEAVED = 3
"""The rounds in turns that must differ from concurrent ones before a gate discards the latter. Once
all rounds are made, one suffices."""
MOST_DISTURBED = 3
"""The disturbed rounds after which no other is repeated."""


LeftOf = Callable[[ScenarioResults], Mapping[int, Collection[str]]]
"""Gives the rounds still to be made of a scenario, each with the revisions that it lacks."""


class Observer(Protocol):
    """Receives the events of a session."""

    def repeat(self, runs: Sequence[PlannedRun]) -> None:
        """A round is repeated, as other programs used CPU during it."""

    def begin(self, planned: PlannedRun) -> None: ...

    def end(self, planned: PlannedRun, result: Result) -> None: ...

    def end_rounds(self, runs: Sequence[PlannedRun]) -> None:
        """One round of a scenario is over, or concurrent rounds of several."""


@dataclass
class Session:
    """Carries out runs of several scenarios."""

    measurer: Measurer
    records: Mapping[str, ScenarioResults]
    observer: Observer
    save: Callable[[ScenarioResults, Result], None]
    """Saves a new result of a record; a later one of the same run replaces it."""
    concurrency: Concurrency = field(default_factory=Concurrency)
    _warm: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Labels of the revisions of which a run has succeeded, each with the scenario and with ""."""
    _warmed_again: set[str] = field(default_factory=set, init=False)
    """The scenarios whose warm-ups were repeated."""
    _ran_last: frozenset[str] = field(default=frozenset(), init=False)
    """Labels of the latest run, or of the latest concurrent runs."""
    _ran_before_baseline: frozenset[str] = field(default=frozenset(), init=False)
    """Labels of the runs right before the baseline's latest."""
    _usual_cores: float | None = field(default=None, init=False)
    """The least load of other programs in the baseline's runs so far; ``None`` before the first."""

    def __post_init__(self) -> None:
        if any(it.measurements or it.failed_before for it in self.records.values()):
            # In a resumed comparison candidates have run.
            self._usual_cores = 0.0

    @property
    def seed(self) -> str:
        """Seeds the drawn order of runs."""
        return next((record.context.started_at for record in self.records.values()), "")

    def carry_out(
        self,
        rounds_needed: Callable[[str], int],
        groups: Sequence[Sequence[Scenario]],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float = math.inf,
    ) -> None:
        """Adds rounds to each scenario until it needs no more, or the budget is spent.

        ``rounds_needed`` gives the number of further rounds after which a scenario may be settled,
        perhaps before the last: a batch of concurrent rounds ends there. It is 0 if it is settled.

        Groups follow each other, each with an equal share of the time left. Within a group
        scenarios take turns, so that all have about as many rounds when time runs out.
        """
        begun = time.monotonic()
        for number, group in enumerate(groups):
            left_s = begun + budget_s - time.monotonic()
            share_s = left_s / (len(groups) - number)
            if share_s > 0:
                self._take_turns(rounds_needed, group, labels, most_rounds, share_s)

    def _take_turns(
        self,
        rounds_needed: Callable[[str], int],
        group: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
    ) -> None:
        """Adds rounds to the scenarios of a group in turn, after warm-ups in half of the budget.

        The order of scenarios is drawn, and for each of them that of revisions, so that the
        baseline sometimes runs twice in a row. Concurrent rounds of several scenarios share a
        batch, as far as each fits: ``load`` is the part of the machine's capacity that they use.
        """
        left_of = partial(self._left, rounds_needed, labels, most_rounds)
        begun, number, is_settled = time.monotonic(), 0, False
        while not is_settled:
            number, is_settled = number + 1, True
            self._warm_up(group, labels, left_of, begun + budget_s / 2)
            batch, load = list[PlannedRun](), 0.0
            for place, scenario in plan.balanced([*enumerate(group)], number, f"{self.seed} group"):
                record = self.records[scenario.name]
                left = left_of(record)
                is_settled &= not left
                if left and min(left) <= number:
                    at_once, ahead = self.concurrent_rounds(scenario), sorted(left)
                    if scenario.is_staggered and not record.rounds:
                        # One round is left that can take turns.
                        ahead = ahead[:-1] or ahead
                    rounds = _next_rounds(ahead, max(1, at_once), rounds_needed(scenario.name))
                    is_joined = scenario.is_staggered and (
                        at_once > 0 and len(rounds) >= scenario.fewest_concurrent_rounds
                    )
                    if batch and load + (len(rounds) / at_once if is_joined else math.inf) > 1:
                        self._make_rounds(batch)
                        batch, load = [], 0.0
                    left_s = begun + budget_s - time.monotonic()
                    fewest = scenario.fewest_concurrent_rounds if at_once else math.inf
                    while runs := [
                        run
                        for ahead in rounds
                        for run in plan.one_round(scenario, labels, ahead, place, self.seed)
                        if run.label in left[ahead]
                    ]:
                        joined = [*batch, *runs]
                        is_concurrent = len(_rounds(joined)) >= fewest
                        if self._lasts_s(joined, is_concurrent=is_concurrent) <= left_s:
                            break
                        rounds = rounds[:-1]
                    else:
                        self._make_rounds(batch)
                        return
                    batch = [*batch, *runs]
                    load += len(rounds) / max(1, at_once)
                    if not is_joined:
                        self._make_rounds(batch)
                        batch, load = [], 0.0
            self._make_rounds(batch)

    def _warm_up(
        self, group: Sequence[Scenario], labels: Sequence[str], left_of: LeftOf, until: float
    ) -> None:
        """Tries to run each revision once in each scenario that needs that.

        Those of further phases are concurrent, as many as fit by the warm-ups so far.
        """
        while group and time.monotonic() < until:
            most = self._paired_warm_ups(group[0], labels)
            cold = takewhile(lambda it: self._cold(it, labels, left_of) == [*labels], group[:most])
            pairs = [plan.one_round(it.for_warm_up(), labels, WARM_UP) for it in cold]
            if runs := [*chain.from_iterable(pairs)]:
                self._run(runs)
                self.observer.end_rounds(runs)
            else:
                self._warm_up_singly(group[0], labels, left_of)
            group = group[max(1, len(pairs)) :]

    def _warm_up_singly(self, scenario: Scenario, labels: Sequence[str], left_of: LeftOf) -> None:
        """Makes the warm-ups of a scenario one by one; all again if they differ from a batch.

        The baseline is warmed up first: its run shows other programs' load before a candidate's.
        Those that differ are repeated once: a single run is often late by chance, and a round in
        turns takes longer.
        """
        record = self.records[scenario.name]
        differ = not record.interleaved_rounds and bool(self._why_discarded(record))
        if scenario.is_staggered and differ and scenario.name not in self._warmed_again:
            self._warmed_again.add(scenario.name)
            self._make_rounds(plan.one_round(scenario.for_warm_up(), labels, WARM_UP))
            return
        for label in labels:
            # The failure of one may end the scenario.
            if label in self._cold(scenario, labels, left_of):
                self._make_rounds(plan.one_round(scenario.for_warm_up(), [label], WARM_UP))

    def _cold(self, scenario: Scenario, labels: Sequence[str], left_of: LeftOf) -> list[str]:
        """The revisions with rounds left, of which no run has succeeded, and no warm-up failed.

        A first round that is skipped needs warm-ups of its own.
        """
        record = self.records[scenario.name]
        warm = scenario.name if self._skips_turn(scenario, labels) else ""
        failed = [(it.label, it.round) for it in record.failed_runs[record.failed_before :]]
        return [
            label
            for label in labels
            if (warm, label) not in self._warm
            and (label, WARM_UP) not in failed
            and any(label in lacking for lacking in left_of(record).values())
        ]

    def _skips_turn(self, scenario: Scenario, labels: Sequence[str]) -> bool:
        """Whether warm-ups take the place of a first round in turns."""
        may_skip = self.concurrency.may_skip_turn and scenario.is_staggered
        may_skip &= not self.records[scenario.name].rounds
        return may_skip and self.concurrency.most_rounds(scenario, len(labels)) > 0

    def _paired_warm_ups(self, scenario: Scenario, labels: Sequence[str]) -> int:
        """The number of phases that may warm up at once, by the warm-ups of this session."""
        warm = [
            it
            for name, it in self.records.items()
            if all((name, label) in self._warm for label in labels)
        ]
        skips_turn = self._skips_turn(scenario, labels)
        return self.concurrency.paired_warm_ups(scenario, warm) if skips_turn else 0

    def _left(
        self,
        rounds_needed: Callable[[str], int],
        labels: Sequence[str],
        most_rounds: int,
        record: ScenarioResults,
    ) -> dict[int, set[str]]:
        """Returns the rounds still to be made, each with the revisions that it lacks."""
        self._discard_differing(record, FEWEST_INTERLEAVED)
        # A round of another scenario may have answered the questions about both.
        is_open = rounds_needed(record.scenario) or self._why_discarded(record)
        needs_pairs = self.concurrency.is_adaptive
        if not is_open or (needs_pairs and not self._is_comparable(record)):
            return {}
        left = self.lacking(record, labels, most_rounds)
        if not left and self._discard_differing(record, 1):
            return self._left(rounds_needed, labels, most_rounds, record)
        return left

    def lacking(
        self, record: ScenarioResults, labels: Sequence[str], most_rounds: int
    ) -> dict[int, set[str]]:
        """Returns the rounds that lack revisions which can still run, with these revisions.

        A resumed comparison has some rounds already. A failed run is not repeated, as its round
        would mix two points in time, unless other concurrent runs disturbed it.
        """
        tried: list[Result] = [*record.measurements]
        tried += [
            it for it in record.failed_runs[record.failed_before :] if it.reason != INTERFERED
        ]
        done = {(result.label, result.round) for result in tried}
        able = [label for label in labels if not self._is_given_up(record, label)]
        left = {
            number: {label for label in able if (label, number) not in done}
            for number in range(1, most_rounds + 1)
        }
        return {number: lacking for number, lacking in left.items() if lacking}

    def _is_comparable(self, record: ScenarioResults) -> bool:
        """Whether a candidate gets more runs, and the baseline, unless that cannot run it."""
        labels = record.context.labels
        baseline, *candidates = (not self._is_given_up(record, label) for label in labels)
        return (baseline or labels[0] in record.unable) and (any(candidates) or not candidates)

    def _is_given_up(self, record: ScenarioResults, label: str) -> bool:
        return why_given_up(self.records.values(), record, label) is not None

    def _discard_differing(self, record: ScenarioResults, fewest: int) -> bool:
        """Discards concurrent rounds if at least ``fewest`` rounds in turns differ from them.

        Returns whether any are discarded. All runs take turns from then on. A candidate that causes
        this gains nothing, as the rounds are repeated one run at a time.
        """
        enough = len(record.interleaved_rounds) >= fewest
        why = self._why_discarded(record) if enough else ""
        for run in record.concurrent_runs if why else ():
            self._replace(record, run, discard_as(run, INTERFERED, why))
        return bool(why)

    def _why_discarded(self, record: ScenarioResults) -> str:
        """Why concurrent rounds may have to be discarded; empty if not, or if there are none."""
        return self.concurrency.why_interleaved(record) if record.concurrent_runs else ""

    def _make_rounds(self, runs: Sequence[PlannedRun]) -> None:
        """Makes one round of a scenario, or several rounds at once, also of several scenarios."""
        if not runs:
            return
        scenario, rounds = runs[0].scenario, _rounds(runs)
        is_possible = len(runs) > 1 and len(rounds) >= scenario.fewest_concurrent_rounds
        if is_possible and self.concurrent_rounds(scenario):
            self._run(runs)
            self.observer.end_rounds(runs)
            return
        for round_runs in rounds:
            self._interleaved_round(round_runs)
            self.observer.end_rounds(round_runs)

    def concurrent_rounds(self, scenario: Scenario) -> int:
        """The number of rounds that can be concurrent now; 0 if runs take turns."""
        record = self.records[scenario.name]
        able = [it for it in record.context.labels if not self._is_given_up(record, it)]
        return self.concurrency.concurrent_rounds(record, scenario, able)

    def _interleaved_round(self, runs: Sequence[PlannedRun], *, is_repeated: bool = False) -> None:
        """Makes one round, run by run; repeats it once if other programs disturbed it.

        Three kinds of rounds are not repeated: if the baseline ran right after a candidate, which
        may have left processes that disturbed it; if a run failed, as the repeat would take the
        failure back; and rounds of a single revision, which limits judge.
        """
        results = [result for run in runs for _, result in self._run([run])]
        measured = [result for result in results if isinstance(result, Measurement)]
        record = self.records[runs[0].scenario.name]
        label, *candidates = record.context.labels
        baseline = next((run for run in measured if run.label == label), None)
        if runs[0].round == WARM_UP or baseline is None:
            return
        if not is_disturbed(baseline.metrics, self._usual_cores or 0.0):
            return
        may_be_leftovers = not candidates or bool(self._ran_before_baseline - {label})
        has_failed = len(measured) < len(results)
        disturbed = sum(len(record.disturbed_rounds) for record in self.records.values())
        if is_repeated or may_be_leftovers or has_failed or disturbed >= MOST_DISTURBED:
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
        self.observer.repeat(runs)
        self._interleaved_round(runs, is_repeated=True)

    def _run(self, runs: Sequence[PlannedRun]) -> Sequence[tuple[PlannedRun, Result]]:
        """Carries out one run, or concurrent runs, except those of revisions that are given up.

        If interrupted, saves the runs that had ended.
        """
        tried = [run for run in runs if not self._is_given_up(self._record(run), run.label)]
        for planned in tried:
            self.observer.begin(planned)
        labels = frozenset(run.label for run in tried)
        baseline, *candidates = self._record(runs[0]).context.labels
        if baseline in labels:
            self._ran_before_baseline = self._ran_last
        self._ran_last = labels or self._ran_last
        shows_usual_load = labels == {baseline} and bool(candidates)
        if not shows_usual_load:
            # What candidates leave behind is not usual.
            self._usual_cores = self._usual_cores or 0.0
        batch_s = 0.0
        if len(tried) < 2:
            measured = self.measurer.measure(*tried)
            results = list(zip(tried, measured, strict=True))
        else:
            names = {run.scenario.name for run in tried}
            records = [it for it in self.records.values() if concurrency.runs_of_baseline(it)]
            # A phase that has not run yet costs as the others did.
            records = [it for it in records if it.scenario in names] or records
            baselines = [*map(concurrency.runs_of_baseline, records)]
            turns_s = [max(it) for it in zip(*map(concurrency.turns_s, records), strict=True)]
            lanes = min(map(concurrency.lanes, baselines), default=1)
            memory = max(map(concurrency.expected_memory, baselines), default=0)
            self.measurer.prefault(len(tried) * memory)
            begun = time.monotonic()
            try:
                measured = self.measurer.measure(*tried, turns_s=turns_s, lanes=lanes)
            except InterruptedRuns as ended:
                for planned, result in self._marked(ended.results, begun):
                    self._add(self._record(planned), result)
                raise
            batch_s = time.monotonic() - begun
            results = self._marked(list(zip(tried, measured, strict=True)), begun)
        if shows_usual_load or (self._usual_cores and runs[0].round == WARM_UP):
            self._learn_usual_load(measured, batch_s)
        for planned, result in results:
            if isinstance(result, Measurement):
                self._warm |= {("", planned.label), (planned.scenario.name, planned.label)}
            self._add(self._record(planned), result)
            self.observer.end(planned, result)
        return results

    def _learn_usual_load(self, results: Sequence[Result], batch_s: float) -> None:
        """Learns what other programs use from runs of the baseline; the least load counts.

        Concurrent runs share the CPU of other programs, over all the time of their batch.
        """
        runs = [it.metrics for it in results if isinstance(it, Measurement)]
        if not runs:
            return
        seconds = max(batch_s, *(run["time_wall_clock"] for run in runs))
        cores = usual_load(max(run.get(OTHER_CPU, 0.0) for run in runs), seconds)
        self._usual_cores = cores if self._usual_cores is None else min(cores, self._usual_cores)

    def _marked(
        self, results: Sequence[tuple[PlannedRun, Result]], begun: float
    ) -> list[tuple[PlannedRun, Result]]:
        """Marks or discards concurrent runs, scenario by scenario."""
        usual_s = USUAL_TOLERATED * (self._usual_cores or 0.0) * (time.monotonic() - begun)
        rounds, marked = len(_rounds(run for run, _ in results)), list[tuple[PlannedRun, Result]]()
        cores = [
            concurrency.cores_of(it)
            for run, it in results
            if isinstance(it, Measurement) and it.label == self._record(run).context.labels[0]
        ]
        for _, group in groupby(results, key=lambda pair: pair[0].scenario.name):
            runs, measured = zip(*group, strict=True)
            record, scenario = self._record(runs[0]), runs[0].scenario
            results_of_scenario = concurrency.mark_or_discard(
                record, scenario, measured, rounds, usual_s, sum(filter(math.isfinite, cores))
            )
            marked += zip(runs, results_of_scenario, strict=True)
        return marked

    def _lasts_s(self, runs: Sequence[PlannedRun], *, is_concurrent: bool) -> float:
        """Estimates the time of runs, of which concurrent ones start and end one by one."""
        expected_s = [run.scenario.expected_s for run in runs]
        if not is_concurrent:
            return sum(expected_s)
        return max(expected_s) + sum(concurrency.turn_s(self._record(run)) for run in runs)

    def _record(self, run: PlannedRun) -> ScenarioResults:
        return self.records[run.scenario.name]

    def _add(self, record: ScenarioResults, result: Result) -> None:
        record.add(result)
        self.save(record, result)

    def _replace(self, record: ScenarioResults, measurement: Measurement, result: Result) -> None:
        record.measurements.remove(measurement)
        self._add(record, result)


def _next_rounds(left: Sequence[int], at_once: int, needed: int) -> Sequence[int]:
    """Returns the next rounds: at most ``at_once``, as equal parts of those that are needed."""
    ahead = left[: max(1, needed)]
    return ahead[: math.ceil(len(ahead) / math.ceil(len(ahead) / at_once))]


def _rounds(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    by_round = groupby(runs, key=lambda run: (run.scenario.name, run.round))
    return [list(group) for _, group in by_round]
