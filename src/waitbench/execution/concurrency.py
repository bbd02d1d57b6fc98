"""Concurrent runs of one scenario: where the CPUs suffice for them, and which of them count."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from msgspec import structs

from waitbench.model.metrics import MEMORY, OTHER_ALLOWED_S, OTHER_CPU, STEAL, WINDOW
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    INTERFERED,
    FailedRun,
    Measurement,
    Result,
    discard_as,
)
from waitbench.model.scenario import Scenario
from waitbench.system.machine import available_memory, usable_cpus

IDLE_SHARE = 0.25
"""Share of all CPUs that concurrent runs may use in their windows, if all cost as the baseline."""
MEMORY_SHARE = 0.5
"""The same of the available memory."""
MIN_SHUTDOWN_TURN_S = 0.1
"""Twice a baseline's CPU time of shutdown is added; a candidate that works longer fails by it."""


@dataclass(frozen=True)
class Concurrency:
    """Decides which runs of a session may be concurrent."""

    scenarios: Collection[str] = ()
    """Scenarios whose runs may be concurrent if the baseline idles."""
    differing: Callable[[ScenarioResults], str] = lambda _record: ""
    """Names the cost by which rounds in turns differ from concurrent ones, if any."""

    def concurrent_rounds(
        self, record: ScenarioResults, scenario: Scenario, first_run: Measurement | None = None
    ) -> int:
        """Returns how many rounds may be concurrent; 0 where even runs of one round take turns.

        The baseline's runs decide. A candidate that works uses the CPUs that are left, and fails by
        it; if the baseline is busy, no CPUs are left, and the kernel might share them equally. But
        twice as much as half of all CPUs is more than any candidate can use. Whether a worker
        file's baseline idles is unknown before its first round, unless by ``first_run``, which is
        no part of the results. A single revision is judged by limits, so its runs take turns. So
        does a round after one that differs from concurrent ones, and the round after a first batch.
        """
        labels, cpus = record.context.labels, usable_cpus()
        is_possible = scenario.name in self.scenarios and 1 < len(labels) <= cpus
        if not is_possible or _takes_turns(record) or self.differing(record):
            return 0
        baseline = record.of(labels[0]) or [*filter(None, [first_run])]
        has_only_a_batch = bool(record.measurements) and not record.interleaved_rounds
        if has_only_a_batch and scenario.fewest_concurrent_rounds > 1:
            return 0
        used = [_cores(run, scenario) for run in baseline]
        most = 1
        if used and not cpus <= 2 * min(used) < math.inf:
            held = max(run.metrics.get(MEMORY.key, 0.0) for run in baseline)
            shared = (IDLE_SHARE * cpus, max(used)), (MEMORY_SHARE * available_memory(), held)
            rounds = (total / each / len(labels) for total, each in shared if each)
            most = int(min(scenario.most_concurrent_rounds, *rounds))
        return most if most >= scenario.fewest_concurrent_rounds else 0


def shutdown_turn_s(record: ScenarioResults, first_run: Measurement | None = None) -> float:
    """Returns how long each run may shut down by itself before the next begins to, in s."""
    baseline = record.of(record.context.labels[0]) or [*filter(None, [first_run])]
    used_s = [run.metrics.get("time_cpu_shutdown", math.inf) for run in baseline]
    return MIN_SHUTDOWN_TURN_S + 2 * max(used_s, default=math.inf)


def judge(
    record: ScenarioResults,
    scenario: Scenario,
    results: Sequence[Result],
    batch_rounds: int,
    in_turns: Sequence[Measurement],
) -> list[Result]:
    """Judges concurrent runs of a scenario, whose runs take turns once anything is set aside here.

    Where runs may collide, a failure or unanswered poke that is new in the first batch sets aside
    the batch, and CPU of other programs is unset above the allowance of the batch's rounds, those
    of other scenarios included. A candidate can cause either and gains nothing: in turns it faces
    the same questions, and nothing concurrent had counted before the first batch. An unanswered
    poke is new if the runs ``in_turns``, of this scenario or else of others, answered theirs.
    """
    may_collide = scenario.fewest_concurrent_rounds > 1
    complete = {run.label for run in in_turns if not run.incomplete}
    failed = [
        f"a run of {result.label} failed beside others: {why}"
        for result in results
        if isinstance(result, FailedRun) or result.label in complete
        for why in (
            [result.message]
            if isinstance(result, FailedRun)
            else [lack.why for lack in result.incomplete.values()]
        )
    ]
    is_first_batch = record.interleaved_rounds == record.rounds
    if failed and may_collide and is_first_batch:
        return [discard_as(result, INTERFERED, failed[0]) for result in results]
    rounds = batch_rounds if may_collide else math.inf
    return [it if isinstance(it, FailedRun) else _marked_concurrent(it, rounds) for it in results]


def _marked_concurrent(run: Measurement, rounds: float) -> Measurement:
    metrics = dict(run.metrics)
    if metrics.get(OTHER_CPU, 0.0) > rounds * OTHER_ALLOWED_S:
        del metrics[OTHER_CPU]
    return structs.replace(run, metrics=metrics, marks=(*run.marks, CONCURRENT))


def _cores(run: Measurement, scenario: Scenario) -> float:
    """Returns how many CPUs a run used in its window, with services; infinite if unknown."""
    services_s = run.metrics.get("service_cpu_idle", 0.0)
    window_s = run.metrics.get(WINDOW) or float(scenario.parameters.get("window", math.inf))
    return run.metrics.get("cpu_share_idle", math.inf) + services_s / window_s


def _takes_turns(record: ScenarioResults) -> bool:
    """Whether concurrent runs have shown that they must take turns: see ``judge``."""
    return any(outcome.reason == INTERFERED for outcome in record.outcomes) or any(
        # An interrupted batch has neither metric.
        CONCURRENT in run.marks and STEAL in run.metrics and OTHER_CPU not in run.metrics
        for run in record.measurements
    )
