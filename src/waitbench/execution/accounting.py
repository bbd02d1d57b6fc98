"""What the processes of a run reported -> the run's metrics. Pure.

Three observers see a run: hyperfine (CPU of everything it waited for), our launcher (``wait4`` of
each process it started, and itself), and the probe in each worker (CPU at its first poll, at the
end of its input, and at its exit). Their sums must add up, and where they do not it is said.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from waitbench.model.metrics import SYSTEM_CALLS, SYSTEM_STEADY, USER_STEADY, weighted_quantile
from waitbench.model.run import (
    BY_PROC,
    RESTARTED,
    UNANSWERED,
    UNBALANCED,
    Measurement,
    Timing,
)

TOLERANCE = 0.02
TOLERANCE_S = 0.005
_ROUNDING_S = 0.001
"""What may look like less CPU than before.

Readings are of one clock that never runs back, in microseconds; one that lags behind (by a tick at
most, in a process that runs) is an earlier one, and too low."""

_REPORTED = ("items_in", "items_out", "polls")
"""The metrics that are sums of what each worker's probe reports under the same name.

A run lacks one that some probe does not report: what waits by itself is not polled, say."""


def metrics_of(
    timing: Timing, launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """All metrics of one run, by key.

    ``launched`` is the report of our launcher (dataflows/support/launch.py), ``reports`` are those
    of the probes in the workers (dataflows/support/probe.py). Of a command the launcher
    (worker_launch.py) tells what it has used apart from the launcher and its helpers.
    """
    children, own = launched["children"], launched.get("worker")
    switching = children if own is None else [own]
    metrics = {
        "time_wall_clock": timing.real_s,
        "time_user": timing.user_s if own is None else own["user_s"],
        "time_system": timing.system_s if own is None else own["system_s"],
        "time_cpu": timing.cpu_s if own is None else _cpu(own),
        "memory_peak_resident": timing.rss_bytes or max(child["rss_bytes"] for child in children),
        "context_switches_voluntary": sum(one["switches_voluntary"] for one in switching),
        "context_switches_involuntary": sum(one["switches_involuntary"] for one in switching),
    }
    if own is not None:
        del metrics["memory_peak_resident"]  # our launcher's is the least that it can be
    workers = _workers(reports, launched)
    if workers:
        metrics |= _split(launched, workers) | _behaviour(workers) | _lateness(workers)
        if not any(worker.get("speaks_for_all") for worker in workers):
            metrics["time_shutdown"] = _shutdown_s(launched, _polled(reports) or workers)
    return metrics


def cpu_of_all(timing: Timing, launched: Mapping[str, Any]) -> float:
    """All CPU seconds that a run's processes, and ours for it, have used."""
    own = launched.get("worker")
    # Nobody waits for the children of who ignores their ends, but the launcher has counted them.
    return max(timing.cpu_s, _cpu(launched["launcher"]) + _cpu(own) if own else 0.0)


def instrumented_metrics(reports: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What an instrumented run gives: the system calls, where they were counted."""
    calls = _system_calls(reports)
    return {} if calls is None else {SYSTEM_CALLS: calls}


def merged(timed: Measurement, instrumented: Measurement) -> Measurement:
    """The measurement of a timed run, with the counts of the instrumented run beside it.

    Counting costs CPU, so no time is taken from a run that has it.
    """
    return replace(timed, metrics={**timed.metrics, **instrumented.metrics})


def marks_of(
    timing: Timing, launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """What is odd about a run that counts all the same."""
    total = timing.cpu_s
    seen = _cpu(launched["launcher"]) + sum(map(_cpu, launched["children"]))
    closes = abs(total - seen) <= max(TOLERANCE * total, TOLERANCE_S)
    marks = () if closes and _is_possible(launched, reports) else (UNBALANCED,)
    more = {
        RESTARTED: any(one.get("totals", {}).get("processes_begun") for one in reports),
        UNANSWERED: any(one.get("unanswered") for one in reports),
        BY_PROC: any(one.get("by_proc") for one in reports),
    }
    return (*marks, *(mark for mark, is_so in more.items() if is_so))


def _is_possible(launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no process has used less CPU than it had used before.

    The parts of a run add up whatever they are: each is what the others leave. What is counted
    twice shows in a part below zero, and of each worker, since a sum of several could hide it.
    """
    workers = _workers(reports, launched)
    courses = [
        [0.0, *(_cpu(w[at]) for at in ("first_poll", "end_of_input", "exit")), _ended(w, launched)]
        for w in workers
    ]
    pids = {worker["pid"] for worker in workers}
    others = [r for r in reports if r["pid"] not in pids and r.get("loaded")]
    courses.append([sum(_cpu(other["exit"]) for other in others), _beside(launched, workers)])
    return all(
        after - before >= -_ROUNDING_S for course in courses for before, after in pairwise(course)
    )


def _workers(
    reports: Sequence[Mapping[str, Any]], launched: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """The reports of processes that polled a source to its end, and of those beside them.

    A worker that was given no partition waits like the others, from when it has loaded the dataflow
    to its own end. An engine's launcher may load the dataflow too, and is no worker: it is our
    launcher's child where the workers are not.
    """
    polled = _polled(reports)
    ours = {child["pid"] for child in launched["children"]}
    of_polled = {report["pid"] in ours for report in polled}
    idle: list[Mapping[str, Any]] = [
        {**report, "first_poll": report["loaded"], "end_of_input": report["exit"]}
        for report in reports
        if not report["first_poll"]
        and report.get("loaded")
        and (report["pid"] in ours) in of_polled
    ]
    return [*polled, *idle]


def _polled(reports: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [report for report in reports if report["first_poll"] and report["end_of_input"]]


def _steady_cpu(workers: Sequence[Mapping[str, Any]]) -> list[float]:
    """The CPU seconds of each worker between its first poll and the end of its input."""
    return [_cpu(worker["end_of_input"]) - _cpu(worker["first_poll"]) for worker in workers]


def _split(launched: Mapping[str, Any], workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Start-up, steady, shutdown, helpers and launcher, in CPU seconds; they add up to everything.

    Helpers are programs that a worker has started and waited for, such as a model. Those that it
    waits for after the last word of its probe are in its shutdown, so what runs beside a worker is
    told from its start-up only with that: all CPU but start-up and our launcher's. What runs beside
    a command is ours.
    """
    startup = sum(_cpu(worker["first_poll"]) for worker in workers)
    steady = sum(_steady_cpu(workers))
    helpers = sum(_cpu(worker["helpers"]) for worker in workers)
    beside = _beside(launched, workers)
    shutdown = sum(_ended(w, launched) for w in workers) - startup - steady
    return {
        "time_cpu_startup": startup,
        "time_cpu_steady": steady,
        "time_cpu_shutdown": shutdown,
        "time_cpu_helpers": helpers,
        "time_cpu_launcher": _cpu(launched["launcher"]) + beside,
        "time_cpu_running": steady + shutdown + helpers + (0.0 if "worker" in launched else beside),
    }


def _ended(worker: Mapping[str, Any], launched: Mapping[str, Any]) -> float:
    """The CPU seconds that a worker itself has used at its end.

    Of one that our launcher started, ``wait4`` says so, and includes its helpers; one that the
    engine's own launcher started ends, as far as anyone can tell, at its last probe.
    """
    for child in launched["children"]:
        if child["pid"] == worker["pid"]:
            return _cpu(child) - _cpu(worker["helpers"])
    return _cpu(worker["exit"])


def _beside(launched: Mapping[str, Any], workers: Sequence[Mapping[str, Any]]) -> float:
    """The CPU seconds of our launcher's children that are neither workers' nor helpers'.

    The engine's own launcher uses them. Its figures include the workers, and theirs the helpers.
    Beside a command it is what asks and wakes it up.
    """
    if "worker" in launched:
        # The kernel's counter, which has the worker's, counts on while a hypervisor takes the CPU.
        return sum(map(_cpu, launched["children"])) - float(launched["worker"]["waited_s"])
    known = sum(_ended(worker, launched) + _cpu(worker["helpers"]) for worker in workers)
    return sum(map(_cpu, launched["children"])) - known


def _behaviour(workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    steady_s = [
        (w["end_of_input"]["monotonic_ns"] - w["first_poll"]["monotonic_ns"]) / 1e9 for w in workers
    ]
    behaviour: dict[str, float] = {
        "cpu_share_steady": sum(
            cpu / s for cpu, s in zip(_steady_cpu(workers), steady_s, strict=True) if s > 0
        ),
    }
    for key in _REPORTED:
        if all(worker.get(key) is not None for worker in workers):
            behaviour[key] = sum(worker[key] for worker in workers)
    if "polls" in behaviour and behaviour.get("items_out"):
        behaviour["polls_per_item"] = behaviour["polls"] / behaviour["items_out"]
    wakeups = _counted(workers, "switches_voluntary")
    if wakeups is not None:
        behaviour["wakeups"] = wakeups
    for key, name in ((USER_STEADY, "user_s"), (SYSTEM_STEADY, "system_s")):
        behaviour[key] = sum(w["end_of_input"][name] - w["first_poll"][name] for w in workers)
    started = [
        (w.get("ready_ns", w["first_poll"]["monotonic_ns"]) - w["spawned_ns"]) / 1e9
        for w in workers
        if w.get("spawned_ns") is not None
    ]
    if started:
        behaviour["time_startup"] = max(started)
    return behaviour


def _shutdown_s(launched: Mapping[str, Any], workers: Sequence[Mapping[str, Any]]) -> float:
    """From when the last input had ended until the last process was gone.

    What runs at an exit may come after the last word of the probe.
    """
    ended_ns = max(int(child["ended_ns"]) for child in launched["children"])
    return (ended_ns - max(int(one["end_of_input"]["monotonic_ns"]) for one in workers)) / 1e9


def _system_calls(reports: Sequence[Mapping[str, Any]]) -> int | None:
    """What all that the run started called while it waited; ``None`` where that is not known.

    Each reading is of the whole run, whoever asked for it. So one difference is all: from when the
    last worker first polled to when the last one's input ended. A worker that was given no
    partition has neither.
    """
    polled = _polled(reports)
    if not polled:
        return None
    first, last = (
        max((worker[at] for worker in polled), key=lambda reading: reading["monotonic_ns"])
        for at in ("first_poll", "end_of_input")
    )
    return _difference(first, last, "system_calls")


def _difference(first: Mapping[str, Any], last: Mapping[str, Any], name: str) -> int | None:
    """What was counted between two readings, which not every engine's probe counts."""
    before, after = first.get(name), last.get(name)
    return None if before is None or after is None else after - before


def _counted(workers: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """What the workers counted between first poll and end of input.

    ``None`` where one of them could not.
    """
    total = 0
    for worker in workers:
        counted = _difference(worker["first_poll"], worker["end_of_input"], name)
        if counted is None:
            return None
        total += counted
    return total


def _lateness(workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    counts = [
        (value, count) for worker in workers for value, count in worker.get("lateness_ns", ())
    ]
    if not counts:
        return {}
    lateness = {
        "item_latency_p50": weighted_quantile(counts, 0.50) / 1e9,
        "item_latency_p99": weighted_quantile(counts, 0.99) / 1e9,
    }
    if all(worker.get("lateness_max_ns") is not None for worker in workers):
        lateness["item_latency_max"] = max(worker["lateness_max_ns"] for worker in workers) / 1e9
    return lateness


def _cpu(used: Mapping[str, Any]) -> float:
    return float(used["user_s"]) + float(used["system_s"])
