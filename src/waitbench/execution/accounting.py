"""What the processes of a run reported -> the run's metrics. Pure.

Three observers see a run: hyperfine (CPU of everything it waited for), our launcher (``wait4`` of
each process it started, and itself), and the probe in each worker (CPU at its first poll, at the
end of its input, and at its exit). Their sums must add up, and where they do not it is said.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from waitbench.model.metrics import SYSTEM_CALLS
from waitbench.model.quantiles import weighted_quantile
from waitbench.model.run import UNBALANCED, Timing

TOLERANCE = 0.02
TOLERANCE_S = 0.005


def metrics_of(
    timing: Timing, launched: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """All metrics of one run, by key.

    ``launched`` is the report of our launcher (dataflows/support/launch.py), ``reports`` are those
    of the probes in the workers (dataflows/support/probe.py).
    """
    children = launched["children"]
    metrics = {
        "time_wall_clock": timing.real_s,
        "time_user": timing.user_s,
        "time_system": timing.system_s,
        "time_cpu": timing.cpu_s,
        "memory_peak_resident": timing.rss_bytes or max(child["rss_bytes"] for child in children),
        "context_switches_voluntary": sum(child["switches_voluntary"] for child in children),
        "context_switches_involuntary": sum(child["switches_involuntary"] for child in children),
    }
    workers = [report for report in reports if report["first_poll"] and report["end_of_input"]]
    if workers:
        metrics |= _split(launched, workers) | _behaviour(workers) | _lateness(workers)
    return metrics


def marks_of(timing: Timing, launched: Mapping[str, Any]) -> tuple[str, ...]:
    """What is odd about a run that counts all the same."""
    total = timing.cpu_s
    seen = _cpu(launched["launcher"]) + sum(map(_cpu, launched["children"]))
    return (UNBALANCED,) if abs(total - seen) > max(TOLERANCE * total, TOLERANCE_S) else ()


def _split(launched: Mapping[str, Any], workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Start-up, steady, shutdown, helpers and launcher, in CPU seconds.

    Helpers are programs that a worker has started and waited for, such as a model: what they used
    is in what ``wait4`` says of the worker, but it is not the worker's. A worker that our launcher
    started itself ends when ``wait4`` says so; one that the engine's own launcher started ends, as
    far as anyone can tell, at its last probe, and that launcher's own CPU counts as launcher.
    """
    startup = sum(_cpu(worker["first_poll"]) for worker in workers)
    steady = sum(_cpu(worker["end_of_input"]) - _cpu(worker["first_poll"]) for worker in workers)
    children = {child["pid"]: child for child in launched["children"]}
    own = [worker for worker in workers if worker["pid"] in children]
    ended = sum(
        _cpu(children[w["pid"]]) if w["pid"] in children else _cpu(w["exit"]) for w in workers
    )
    everything = sum(map(_cpu, children.values()))
    names = ("helper_user_s", "helper_system_s")
    helpers = sum(worker["totals"].get(name, 0.0) for worker in workers for name in names)
    beside = 0.0 if len(own) == len(children) else everything - ended
    return {
        "time_cpu_startup": startup,
        "time_cpu_steady": steady,
        "time_cpu_shutdown": ended - startup - steady - helpers,
        "time_cpu_helpers": helpers,
        "time_cpu_launcher": _cpu(launched["launcher"]) + beside,
    }


def _behaviour(workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    polls = sum(worker["polls"] for worker in workers)
    items = sum(worker["items_out"] for worker in workers)
    steady_s = [
        (w["end_of_input"]["monotonic_ns"] - w["first_poll"]["monotonic_ns"]) / 1e9 for w in workers
    ]
    steady_cpu = [_cpu(worker["end_of_input"]) - _cpu(worker["first_poll"]) for worker in workers]
    behaviour: dict[str, float] = {
        "polls": polls,
        "items_in": sum(worker["items_in"] for worker in workers),
        "items_out": items,
        "cpu_share_steady": sum(
            cpu / s for cpu, s in zip(steady_cpu, steady_s, strict=True) if s > 0
        ),
    }
    behaviour |= _counted(workers)
    if items:
        behaviour["polls_per_item"] = polls / items
    started = [
        (w["first_poll"]["monotonic_ns"] - w["spawned_ns"]) / 1e9
        for w in workers
        if w["spawned_ns"] is not None
    ]
    if started:
        behaviour["time_startup"] = max(started)
    return behaviour


def _counted(workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What waiting consisted of: counts between the first poll and the end of input.

    A count that some worker could not take is left out, rather than be that of the others.
    """
    counted = {}
    for key, name in (("wakeups", "switches_voluntary"), (SYSTEM_CALLS, "system_calls")):
        ends = [(worker["first_poll"][name], worker["end_of_input"][name]) for worker in workers]
        if all(count is not None for pair in ends for count in pair):
            counted[key] = sum(last - first for first, last in ends)
    return counted


def _lateness(workers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    counts = [(value, count) for worker in workers for value, count in worker["lateness_ns"]]
    if not counts:
        return {}
    return {
        "item_latency_p50": weighted_quantile(counts, 0.50) / 1e9,
        "item_latency_p99": weighted_quantile(counts, 0.99) / 1e9,
        "item_latency_max": max(worker["lateness_max_ns"] for worker in workers) / 1e9,
    }


def _cpu(used: Mapping[str, Any]) -> float:
    return float(used["user_s"]) + float(used["system_s"])
