"""Carries out a plan: one run after the other, each kept before the next begins."""

import math
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
END_S = 0.1
"""A worker file's run ends alone for so long and twice the CPU time of an end of the baseline. So
ends that wait overlap. A candidate whose end works all the same fails by what it uses."""
TURNS_TO_TELL = 2
"""Rounds one run at a time that must tell something else than those at once, to have all take
turns: where a guide asks for as many rounds as it needs. Where these are planned, one is enough."""
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


@dataclass
class Session:
    """Runs of several scenarios and what came of them."""

    measurer: Measurer
    records: Mapping[str, Record]
    """By scenario; these grow."""
    observer: Observer
    side_by_side: Collection[str] = ()
    """The scenarios of which runs may take place at once, if the baseline idles."""
    differing: Callable[[Record], str] = lambda _record: ""
    """What rounds one run at a time tell otherwise than those at once, if anything."""
    _windows: dict[str, float] = field(default_factory=dict, init=False)
    """How long scenarios are watched of which nobody said it."""
    _ran_last: frozenset[str] = field(default=frozenset(), init=False)
    """The labels of the run before, or of the runs, whatever their scenario."""
    _ran_before_baseline: frozenset[str] = field(default=frozenset(), init=False)
    """The same as the baseline was last run."""

    @property
    def seed(self) -> str:
        """What the order of runs is drawn by."""
        return next((one.context.started_at for one in self.records.values()), "")

    def carry_out(self, runs: Sequence[PlannedRun]) -> None:
        """Runs what a plan says, in its order, round by round."""
        self.observer.extend(runs)
        rounds = deque(_rounds(runs))
        while rounds:
            those = rounds.popleft()
            scenario = those[0].scenario
            is_joined = scenario.is_command and those[0].round != WARM_UP
            most = self._rounds_at_once(scenario) if is_joined else 1
            while rounds and rounds[0][0].scenario is scenario and len(_rounds(those)) < most:
                those += rounds.popleft()
            self._round(those)
            again = self._set_aside(self.records[scenario.name], 1)
            anew = [run for run in runs if run.scenario is scenario and run.round in again]
            self.observer.extend(anew)
            rounds.extendleft(reversed(_rounds(anew)))

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
        share of the time that is left. There is one warm-up of each revision for all scenarios. A
        scenario without a window is watched for as long as a first run of the baseline finds.
        """
        begun = time.monotonic()
        rounds_s = [len(labels) * one.expected_s for group in groups for one in group]
        end = begun + min(budget_s, max(rounds_s, default=0.0) + most_rounds * sum(rounds_s))
        first = next((one for group in groups for one in group if guide.wants_more(one.name)), None)
        if first is not None:
            is_looked_at = not (first.has_window or self.records[first.name].of(labels[0]))
            if cold := labels[is_looked_at:]:
                self._extend(plan.one_round(first, cold, WARM_UP, seed=self.seed), end)
        for number, group in enumerate(groups):
            left_s = begun + budget_s - time.monotonic()
            share_s = left_s / (len(groups) - number)
            self._take_turns(guide, group, labels, most_rounds, share_s, end)

    def _take_turns(
        self,
        guide: Guide,
        group: Sequence[Scenario],
        labels: Sequence[str],
        most_rounds: int,
        budget_s: float,
        end: float,
    ) -> None:
        """Adds rounds to the scenarios of a group in turn.

        Neighbours have different orders, so that some runs of the baseline follow one of its own.
        By ``end`` all groups will be done, so far as can be known.
        """
        begun, unsettled, number = time.monotonic(), dict(enumerate(group)), 0
        while unsettled:
            number += 1
            for place, named in list(unsettled.items()):
                if guide.is_over():
                    return
                record = self.records[named.name]
                self._set_aside(record, TURNS_TO_TELL)
                left = self._left(record, labels, most_rounds)
                # Another scenario's round may have settled what is judged of both together.
                is_open = guide.wants_more(named.name) or self.differing(record)
                if not (left and is_open and _is_comparable(record)):
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
                    lasts_s = _lasts_s(scenario, len(runs), is_at_once=at_once > 0)
                    if time.monotonic() - begun + lasts_s > budget_s:
                        return
                    self._extend(runs, end)

    @staticmethod
    def _left(record: Record, labels: Sequence[str], most_rounds: int) -> dict[int, set[str]]:
        """The rounds that are still to be made, each with the revisions that it lacks.

        A resumed comparison has some already, and others were made at once. What failed meanwhile
        is not tried again: its round would be of two moments. But what was crowded is.
        """
        tried: list[Result] = [*record.measurements]
        tried += [o for o in record.outcomes[record.outcomes_before :] if o.reason != CROWDED]
        done = {(one.label, one.round) for one in tried}
        able = [label for label in labels if record.why_given_up(label) is None]
        left = {
            number: {label for label in able if (label, number) not in done}
            for number in range(1, most_rounds + 1)
        }
        return {number: lacking for number, lacking in left.items() if lacking}

    def _with_window(self, scenario: Scenario, end: float) -> Scenario:
        """A scenario, and where nobody says how long to watch it, as long as the baseline needs it.

        A first run of the baseline finds that. A resumed comparison has the window that it had.
        """
        name, record = scenario.name, self.records[scenario.name]
        if scenario.has_window:
            return scenario
        baseline = record.context.labels[0]
        if name not in self._windows and record.of(baseline):
            self._windows[name] = round(record.window_s(record.of(baseline)[0]) or 0.0, 1)
        if name not in self._windows:
            looked = PlannedRun(scenario=scenario, label=baseline, round=WARM_UP, position=0)
            self.observer.extend([looked], max(0.0, end - time.monotonic()))
            for result in self._run([looked]):
                found = result.metrics if isinstance(result, Measurement) else {}
                self._windows[name] = found.get(WINDOW, 0.0)
        found_s = self._windows.get(name)
        return scenario.watched_for(found_s) if found_s else scenario.lasting(0.0)

    def _set_aside(self, record: Record, fewest: int) -> frozenset[int]:
        """Sets aside rounds at once if so many one run at a time tell something else; returns them.

        All runs take turns from then on. A candidate that brings this about gains nothing: each
        question is asked again, of rounds that are as it is used.
        """
        beside = [run for run in record.measurements if SIDE_BY_SIDE in run.marks]
        rounds = frozenset(run.round for run in beside)
        what = self.differing(record) if len(record.rounds - rounds) >= fewest else ""
        if not what:
            return frozenset()
        for run in beside:
            why = f"{what} differs from that of rounds one run at a time"
            self._replace(record, run, set_aside(run, CROWDED, why))
        return rounds

    def _extend(self, runs: Sequence[PlannedRun], end: float) -> None:
        self.observer.extend(runs, max(0.0, end - time.monotonic()))
        self._round(runs)

    def _round(self, runs: Sequence[PlannedRun]) -> None:
        """One round of one scenario, or several at once; once more if other programs disturbed it.

        But not where the baseline's run came right after a candidate's: what was still at work then
        may be what that left behind, and a repeat would take back the run that it belongs to. Nor
        where the only revision is the one that limits judge; nor where they took place at once:
        others disturb all of them alike, and may do so for one.
        """
        # Of a worker file several: what no two runs can share makes one of them fail then.
        fewest = 2 if runs and runs[0].scenario.is_command else 1
        may_be = len(runs) > 1 and len(_rounds(runs)) >= fewest
        if may_be and self._rounds_at_once(runs[0].scenario):
            if any(isinstance(one, Outcome) and one.reason == CROWDED for one in self._run(runs)):
                self.observer.extend(runs)
                for one_round in _rounds(runs):
                    self._round(one_round)
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
            is_judged = len(record.context.labels) == 1
            may_be_candidates = is_judged or bool(self._ran_before_baseline - {label})
            # A repeat would take back what failed.
            has_failed = any(isinstance(one, Outcome) for one in results)
            if is_repeated or may_be_candidates or has_failed or self._is_busy():
                for one in made:
                    marked = structs.replace(one, marks=(*one.marks, DISTURBED))
                    self._replace(record, one, marked)
                return
            for one in made:
                self._replace(record, one, set_aside(one, DISTURBED, _what_disturbed(one)))
            self.observer.repeat(runs, foreign_cores([one.metrics for one in made]))

    def _rounds_at_once(self, scenario: Scenario) -> int:
        """How many rounds may take place at once; 0 where even the runs of one take turns.

        The baseline's runs so far decide. A candidate has no say: one that works all the same has
        the CPUs that are left, and fails by what it uses. Beside a baseline that works it has not:
        kernels may share CPUs equally between runs, whatever each of them wants. But twice of what
        has half of all CPUs is more than any candidate can use. Of a worker file nobody knows
        whether it idles: its first round is made in turns. So are the runs of a revision that is
        judged by itself, by limits; and a round that follows one which tells something else.
        """
        record = self.records[scenario.name]
        labels = record.context.labels
        is_possible = scenario.name in self.side_by_side and 1 < len(labels) <= cpus()
        if not is_possible or _takes_turns(record) or self.differing(record):
            return 0
        used = [_cores(one, scenario) for one in record.of(labels[0])]
        fewest, most = (2 if scenario.is_command else 1), 1
        if used and not cpus() <= 2 * min(used) < math.inf:
            each = max(used) * len(labels)
            most = sum(many * each <= IDLE_SHARE * cpus() for many in range(1, ROUNDS_AT_ONCE + 1))
        return most if most >= fewest else 0

    def _measure_at_once(self, record: Record, runs: Sequence[PlannedRun]) -> list[Result]:
        """Has runs take place at once; what counts of them. Keeps those that were over if ended."""
        baseline = record.context.labels[0]
        used_s = [one.metrics.get("time_cpu_shutdown", math.inf) for one in record.of(baseline)]
        ends_alone_s = END_S + 2 * max(used_s, default=math.inf)
        try:
            return _counting(record, runs, self.measurer.measure_together(runs, ends_alone_s))
        except Interrupted as ended:
            for result in _counting(record, runs, ended.results):
                self._add(record, result)
            raise

    def _add(self, record: Record, result: Result) -> None:
        if isinstance(result, Outcome) or result.round != WARM_UP:
            record.add(result)
            self.observer.keep(record, result)

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
            results = self._measure_at_once(record, tried)
        else:
            results = [self.measurer.measure(run) for run in tried]
        for planned, result in zip(tried, results, strict=True):
            self._add(record, result)
            self.observer.end(planned, result)
        return results


def _is_comparable(record: Record) -> bool:
    """Whether the baseline and some candidate, if there are any, may still be measured."""
    baseline, *candidates = (record.why_given_up(label) is None for label in record.context.labels)
    return baseline and (any(candidates) or not candidates)


def _rounds(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """Planned runs by scenario and round, in their order."""
    by_round = groupby(runs, key=lambda run: (run.scenario.name, run.round))
    return [list(one_round) for _, one_round in by_round]


def _lasts_s(scenario: Scenario, runs: int, *, is_at_once: bool) -> float:
    """About how long runs take: at once, those of worker files still start and end in turn."""
    if not is_at_once:
        return runs * scenario.expected_s
    window_s = float(scenario.parameters.get("window", 0.0)) if scenario.is_command else 0.0
    return window_s + (runs if scenario.is_command else 1) * (scenario.expected_s - window_s)


def _cores(run: Measurement, scenario: Scenario) -> float:
    """How many CPUs a run used in its window, with its services; infinite if nobody knows."""
    services_s = run.metrics.get("service_cpu_idle", 0.0)
    window_s = run.metrics.get(WINDOW) or float(scenario.parameters.get("window", math.inf))
    return run.metrics.get("cpu_share_idle", math.inf) + services_s / window_s


def _counting(
    record: Record, runs: Sequence[PlannedRun], results: Sequence[Result]
) -> list[Result]:
    """What counts of runs that took place at once.

    Two things are set aside of worker files, whose runs take turns from then on. If a run fails in
    the first batch, or does not answer there only, runs may be in each other's way, as by a fixed
    port: the whole batch. If others used more CPU than is no regression whosever it is: that
    figure. A candidate can bring about either, and gains nothing: in turns it is asked everything
    that it would have been asked, and nothing at once had counted before the first batch.
    """
    is_command = runs[0].scenario.is_command
    in_turns = [one for one in record.measurements if SIDE_BY_SIDE not in one.marks]
    complete = {one.label for one in in_turns if not one.incomplete}
    failed = [
        f"a run of {one.label} failed beside others: {why}"
        for one in results
        if isinstance(one, Outcome) or one.label in complete
        for why in _whys(one)
    ]
    if failed and is_command and len(in_turns) == len(record.measurements):
        return [set_aside(one, CROWDED, failed[0]) for one in results]
    rounds = len(_rounds(runs)) if is_command else math.inf
    return [one if isinstance(one, Outcome) else _beside(one, rounds) for one in results]


def _whys(result: Result) -> list[str]:
    """Why a run gave no measurement, or lacks a part of it."""
    if isinstance(result, Outcome):
        return [result.message]
    return [lack.why for lack in result.incomplete.values()]


def _beside(run: Measurement, rounds: float) -> Measurement:
    """A run that took place at once with others, in so many rounds."""
    metrics = dict(run.metrics)
    if metrics.get(FOREIGN_CPU, 0.0) > rounds * FOREIGN_ALLOWED_S:
        del metrics[FOREIGN_CPU]
    return structs.replace(run, metrics=metrics, marks=(*run.marks, SIDE_BY_SIDE))


def _takes_turns(record: Record) -> bool:
    """Whether runs that took place at once have shown that they cannot: see ``Session``."""
    return any(one.reason == CROWDED for one in record.outcomes) or any(
        # Of a batch that was interrupted neither is known.
        SIDE_BY_SIDE in one.marks and STEAL in one.metrics and FOREIGN_CPU not in one.metrics
        for one in record.measurements
    )


def _what_disturbed(run: Measurement) -> str:
    return (
        f"other programs used {run.metrics.get(FOREIGN_CPU, 0.0):.2f} s of CPU during this run of "
        f"{run.metrics['time_wall_clock']:.2f} s, or during another of its round"
    )
