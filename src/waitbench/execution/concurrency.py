"""Decides how many rounds of a scenario may be concurrent, and which concurrent runs count."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from waitbench.model.metrics import (
    MEMORY,
    OTHER_ALLOWED_S,
    OTHER_CPU,
    SERVICE_MEMORY,
    STEAL,
    STOP,
    WINDOW,
)
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    INTERFERED,
    UNABLE,
    WARM_UP,
    FailedRun,
    Measurement,
    Result,
    discard_as,
)
from waitbench.model.scenario import Scenario
from waitbench.system.machine import available_memory, usable_cpus

IDLE_SHARE = 0.25
"""The share of all CPUs for the windows of concurrent runs, if each costs as the baseline's did."""
WARM_UPS_SHARE = 0.5
"""The same for a batch before any round in turns, if each run costs as its warm-up did."""
MEMORY_SHARE = 0.5
"""The share of the available memory for concurrent runs and their services."""
MIN_TURN_S = 0.1
"""The time in which a run starts, or shuts down, alone is this, and twice the CPU for that."""
_MOST_DESCRIPTORS, _DESCRIPTORS, _DESCRIPTORS_OF_SERVICE = 960, 6, 4
"""The open files of all concurrent runs, which are usually limited to 1,024, and those of each."""
_TOLERATED_CORES = 0.25
"""What a start-up may use beyond a whole number of CPUs: its CPU includes the time to settle."""


@dataclass(frozen=True)
class Concurrency:
    """Decides which runs of a session may be concurrent."""

    scenarios: Collection[str] = ()
    """Scenarios whose runs may be concurrent if the baseline idles."""
    why_interleaved: Callable[[ScenarioResults], str] = lambda _record: ""
    """Why rounds of a scenario must take turns, by their costs; empty if none must."""
    is_adaptive: bool = True
    """Whether answers decide the number of rounds, as in a gate. If not, several rounds of a
    dataflow are not concurrent, nor those in which start-ups compete, or of a single revision."""
    may_skip_turn: bool = False
    """Whether scenarios of a worker file begin with warm-ups in place of a round in turns: for a
    gate of two revisions without limits, which are about a worker without copies."""

    def concurrent_rounds(
        self, record: ScenarioResults, scenario: Scenario, able: Collection[str]
    ) -> int:
        """Returns how many rounds may be concurrent; 0 where even runs of one round take turns.

        The baseline's runs decide: a candidate that works has the CPUs that idle runs leave, so its
        cost shows. If the baseline works, runs take turns, because the kernel may share CPUs
        equally; unless only large changes count, and it uses so much that no candidate can use
        twice as much. Start-ups that would compete have as many CPUs as the baseline's used.

        Runs also take turns in a worker file until a round, or the warm-ups, have all revisions
        that are ``able`` to run; and if ``why_interleaved`` has a reason. In a first batch, each
        run has the CPUs that it used in the warm-up, so that its figures are right.
        """
        labels, cpus = record.context.labels, usable_cpus()
        bounds: list[float] = [self.most_rounds(scenario, len(labels))]
        if not bounds[0] or _takes_turns(record) or self.why_interleaved(record):
            return 0
        skips_turn = self.may_skip_turn and not any(run.incomplete for run in record.warm_ups)
        first = WARM_UP if skips_turn and scenario.is_staggered else WARM_UP + 1
        alone = {(run.round, run.label) for run in record.single_runs if run.round >= first}
        counts = Counter(number for number, label in alone if label in able)
        complete = [number for number, count in counts.items() if count == len(able)]
        if scenario.is_staggered and not complete:
            return 0
        baseline = runs_of_baseline(record) if scenario.is_staggered else record.of(labels[0])
        if _starts_compete(scenario):
            bounds.append(lanes(baseline) // len(labels))
        used = [cores_of(run) for run in baseline]
        is_too_busy_to_double = bool(used) and cpus <= 2 * min(used) < math.inf
        if used and not (is_too_busy_to_double and scenario.large_changes_only):
            held = max(map(_memory, baseline))
            shared = (IDLE_SHARE * cpus, max(used)), (MEMORY_SHARE * available_memory(), held)
            bounds += [total / each / len(labels) for total, each in shared if each]
        else:
            bounds.append(1)
        if complete == [WARM_UP] and not record.rounds:
            cores, memory = (sum(map(used, record.warm_ups)) for used in (cores_of, _memory))
            bounds.append(WARM_UPS_SHARE * cpus / max(cores, 1e-9))
            bounds.append(MEMORY_SHARE * available_memory() / max(memory, 1))
        most = int(min(bounds))
        return most if most >= scenario.fewest_concurrent_rounds else 0

    def most_rounds(self, scenario: Scenario, revisions: int) -> int:
        """Returns how many rounds may be concurrent if the baseline idles; 0 if runs take turns.

        Values of a scan take turns, so only the runs of one round may be concurrent.
        """
        may_join = scenario.scan is None and (scenario.is_staggered or self.is_adaptive)
        descriptors = revisions * (_DESCRIPTORS + scenario.services * _DESCRIPTORS_OF_SERVICE)
        fit = _MOST_DESCRIPTORS // descriptors
        most = min(scenario.most_concurrent_rounds, fit) if may_join else 1
        if _starts_compete(scenario):
            most = min(most, int(usable_cpus() / revisions))
        is_possible = scenario.name in self.scenarios and revisions <= usable_cpus()
        is_possible &= revisions > 1 or (self.is_adaptive and scenario.is_staggered)
        is_possible &= self.is_adaptive or not _starts_compete(scenario)
        return most if is_possible and most >= scenario.fewest_concurrent_rounds else 0

    def paired_warm_ups(self, scenario: Scenario, others: Iterable[ScenarioResults]) -> int:
        """Returns how many phases may warm up at once, both revisions, if each costs as ``others``.

        0 if runs warm up alone. That is so without services, as both revisions may take messages
        from one broker.
        """
        pairs = [
            it.warm_ups
            for it in others
            if it.scenario in self.scenarios and len(it.warm_ups) == len(it.context.labels)
        ]
        if not (scenario.services and pairs):
            return 0
        cores, memory = (max(sum(map(used, it)) for it in pairs) for used in (cores_of, _memory))
        bounds = (
            self.most_rounds(scenario, len(pairs[0])),
            IDLE_SHARE * usable_cpus() / max(cores, 1e-9),
            MEMORY_SHARE * available_memory() / max(memory, 1),
        )
        return int(min(bounds))


def runs_of_baseline(record: ScenarioResults) -> list[Measurement]:
    """The baseline's runs; before there are any, its warm-ups."""
    label = record.context.labels[0]
    return record.of(label) or [run for run in record.warm_ups if run.label == label]


def _starts_compete(scenario: Scenario) -> bool:
    """Whether concurrent start-ups coincide, which may hide small changes that count."""
    return not (scenario.is_staggered or scenario.large_changes_only)


def lanes(baseline: Sequence[Measurement]) -> int:
    """Returns how many runs of a batch may start, or end, at a time, by the CPUs of a start."""
    cores = [
        run.metrics["time_cpu_startup"] / max(run.metrics["time_startup"], 1e-3)
        for run in baseline
        if {"time_cpu_startup", "time_startup"} <= run.metrics.keys()
    ]
    most = max(cores, default=usable_cpus()) - _TOLERATED_CORES
    return max(1, int(usable_cpus() / max(1, math.ceil(most))))


def turns_s(record: ScenarioResults) -> list[float]:
    """Returns the times in s for which each run of a batch may start, and shut down, alone.

    A start that computes keeps its turn. A candidate's costly shutdown does not: it delays others.
    """
    starts, ends = record.measurements or record.warm_ups, runs_of_baseline(record)
    used_s = [
        [run.metrics.get(key, math.inf) for run in runs]
        for key, runs in (("time_cpu_startup", starts), ("time_cpu_shutdown", ends))
    ]
    return [MIN_TURN_S + 2 * max(values, default=math.inf) for values in used_s]


def expected_memory(baseline: Sequence[Measurement]) -> int:
    """Estimates how many bytes a run uses in all: it frees as many as it holds in its window."""
    return max((_memory(run) + int(run.metrics.get(MEMORY.key, 0)) for run in baseline), default=0)


def _memory(run: Measurement) -> int:
    """The memory of a run with its services, in bytes; without what is unknown."""
    return int(sum(run.metrics.get(key, 0) for key in (MEMORY.key, SERVICE_MEMORY)))


def turn_s(record: ScenarioResults) -> float:
    """Estimates the time in s for which a run's start and end keep others of its batch waiting."""
    baseline, delays_s = runs_of_baseline(record), [0.0]
    most_start_s, most_end_s = turns_s(record)
    of_all = lanes(baseline)
    # With services, half of the lanes are for pokes, and half for shutdowns.
    half = of_all // 2 if record.spec.services else 0
    for run in baseline:
        outside_s = run.metrics.get("time_wall_clock", 0.0) - run.metrics.get(WINDOW, 0.0)
        start_s = min(run.metrics.get("time_startup", outside_s), most_start_s)
        keys = "item_latency_p50", STOP.key
        ends_s = [min(run.metrics.get(key, 0.0), most_end_s) for key in keys]
        end_s = max(ends_s) / half if half else sum(ends_s) / of_all
        delays_s.append(start_s / of_all + end_s)
    return max(delays_s)


def mark_or_discard(
    record: ScenarioResults,
    scenario: Scenario,
    results: Sequence[Result],
    batch_rounds: int,
    usual_s: float,
    baseline_cores: float,
) -> list[Result]:
    """Marks the concurrent runs of a scenario as such, or discards them.

    Where runs may collide, the first batch is discarded if a run failed in it, or did not answer
    its poke although single runs answered theirs. If these are warm-ups, whose windows are shorter,
    a revision may never answer if another does. It also is if the baseline does not idle: its
    windows in the batch, of all scenarios, used ``baseline_cores`` together. CPU of other programs,
    unless only large changes count, is removed from runs if it exceeds ``usual_s``, their usual
    load, by more than the allowance of all rounds of the batch. After any of these, runs take
    turns. A candidate that causes this gains nothing, as it faces the same questions in turns.
    Concurrent warm-ups are discarded if one failed, unless its revision cannot be measured.
    """
    are_warm_ups = results[0].round == WARM_UP
    complete = {run.label for run in record.single_runs if not run.incomplete}
    measured = [it for it in results if isinstance(it, Measurement)]
    if not record.interleaved_rounds:
        complete &= {run.label for run in measured if not run.incomplete} or complete
    failed = [
        f"a run of {result.label} failed beside others: {why}"
        for result in results
        if (isinstance(result, FailedRun) and not (are_warm_ups and result.reason in UNABLE))
        or result.label in complete
        for why in (
            [result.message]
            if isinstance(result, FailedRun)
            else [lack.why for lack in result.incomplete.values()]
        )
    ]
    if not are_warm_ups and not record.rounds and baseline_cores > IDLE_SHARE * usable_cpus():
        failed.append(f"the baseline's runs used {baseline_cores:.1f} CPUs together")
    if failed and scenario.is_staggered and record.interleaved_rounds == record.rounds:
        return [discard_as(result, INTERFERED, failed[0]) for result in results]
    allowed_s = math.inf if scenario.large_changes_only else batch_rounds * OTHER_ALLOWED_S
    most_s = usual_s + allowed_s
    return [it if isinstance(it, FailedRun) else _marked_concurrent(it, most_s) for it in results]


def _marked_concurrent(run: Measurement, most_other_s: float) -> Measurement:
    metrics = dict(run.metrics)
    if metrics.get(OTHER_CPU, 0.0) > most_other_s:
        del metrics[OTHER_CPU]
    # Concurrent warm-ups are of different revisions, so they share no pages or messages.
    marks = run.marks if run.round == WARM_UP else (*run.marks, CONCURRENT)
    return structs.replace(run, metrics=metrics, marks=marks)


def cores_of(run: Measurement) -> float:
    """Returns how many CPUs a run used in its window, with services; infinite if unknown."""
    services = run.metrics.get("service_cpu_idle", 0.0) / (run.window_s or math.inf)
    return run.metrics.get("cpu_share_idle", math.inf) + services


def _takes_turns(record: ScenarioResults) -> bool:
    """Whether runs take turns because of earlier concurrent runs: see ``mark_or_discard``."""
    return any(outcome.reason == INTERFERED for outcome in record.failed_runs) or any(
        # An interrupted batch has neither metric.
        STEAL in run.metrics and OTHER_CPU not in run.metrics
        for run in record.concurrent_runs
    )
