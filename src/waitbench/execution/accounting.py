"""Computes a run's metrics from the reports of its launcher and probes. No I/O.

The launcher counts all processes of the run from outside, at each mark: execution/launch.py. A
probe in each worker of a dataflow counts items and their lateness: dataflows/support/probe.py.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from waitbench.engines.worker import metrics as worker_metrics
from waitbench.execution.launch_report import LOST_CHILDREN
from waitbench.model.metrics import BY_NAME, IDLE_SYSTEM, IDLE_USER, WINDOW
from waitbench.model.run import BY_PROC, INCOMPLETE, RESTARTED, SENT_AT_END, Lack

_COUNTS = {metric.key for metric in BY_NAME.values()} - {"wakeups"}
"""Keys of metrics. If a reading has a count of this name, the metric is its rise in the window."""
_INCLUDE_CHILDREN = [
    metric.key
    for metric in BY_NAME.values()
    if metric.key.startswith(("time_user", "time_system", "time_cpu", "cpu_", "context_"))
    or metric.name == "wakeups"
]
"""Keys of metrics that are unknown if the CPU of ended child processes is lost."""
_UNSEEN_SHARE = 0.05
"""If ``/proc`` misses more than this share of the window's CPU, missed wake-ups are estimated."""

Number = int | float
Reading = Mapping[str, Number | bool]
"""Counts of ``CountedTree.reading`` up to a mark, by name."""


class _Lateness(Struct, kw_only=True):
    """The lateness of items."""

    lateness_ns: list[tuple[Number, int]] = []
    """Pairs of a lateness in ns and the number of items that had it."""
    lateness_max_ns: Number = 0


class LaunchReport(_Lateness, kw_only=True):
    """The launcher's report of a run."""

    used: Mapping[str, Number]
    """Usage of the whole run, by key of metric."""
    launcher_s: float
    by_proc: bool
    """Whether figures of the window come from /proc, as the kernel does not count for this user."""
    is_blind: bool = False
    """Whether CPU of child processes may be missing from all figures."""
    started_ns: int
    marks: Mapping[str, Reading]
    """Readings of the counters: at both ends of the window (``begin``, ``end``), at the ``exit`` of
    all processes, and ``last`` before a worker's signal to end, when it has done all its work.

    Concurrent runs wait for each other between ``started`` and ``acting``, the beginning of their
    actions, between ``acted`` and ``begin``, between ``end`` and ``ending``, when they are poked,
    and between ``poked`` and ``last``, but may still do work for the poke then.
    """
    ready_ns: int | None = None
    waited_s: float = 0.0
    """The time for which the run waited for others of its batch."""
    totals: dict[str, Number] = {}
    """Further metrics, by key."""
    incomplete: Mapping[str, Lack] = {}
    """The metrics that a valid run lacks, by key; ``lateness`` stands for those of a poke."""
    sent_at_end: bool = False
    loaded: tuple[str, ...] = ()
    left: str = ""


class ProbeReport(_Lateness, kw_only=True):
    """The report of a probe in a worker of a dataflow."""

    polls: int
    items_in: int
    items_out: int
    ident_sum_in: int
    ident_sum_out: int


def metrics_of(
    real_s: float, launched: LaunchReport, reports: Sequence[ProbeReport]
) -> dict[str, Number]:
    """Returns a run's metrics, by key, without the costs of waiting for others of its batch."""
    used, marks = dict(launched.used), launched.marks
    pairs = (("started", "acting"), ("acted", "begin"), ("end", "ending"))
    waiting = [(marks[begin], marks[end]) for begin, end in pairs if {begin, end} <= marks.keys()]
    cpu_s, system_s = (sum(_rise(*pair, key) for pair in waiting) for key in ("cpu_s", "system_s"))
    cpu_s += _waiting_to_end_s(marks, "cpu_s")
    system_s = min(system_s + _waiting_to_end_s(marks, "system_s"), cpu_s)
    used["time_system"] -= system_s
    used["time_user"] -= cpu_s - system_s
    metrics = {
        "time_wall_clock": real_s - launched.waited_s,
        "time_cpu": used["time_user"] + used["time_system"],
        "time_cpu_launcher": launched.launcher_s,
        **used,
    }
    if "begin" in marks and "end" in marks:
        metrics |= _stage_metrics(launched) | _items(reports) | _lateness([launched, *reports])
    return metrics | launched.totals


def marks_of(launched: LaunchReport) -> tuple[str, ...]:
    """Returns the marks of a measurement, as ``model.run`` has them."""
    applies = {
        RESTARTED: launched.totals.get("processes_replaced"),
        BY_PROC: launched.by_proc,
        SENT_AT_END: launched.sent_at_end,
        INCOMPLETE: incomplete_in(launched),
    }
    return tuple(mark for mark, value in applies.items() if value)


def incomplete_in(launched: LaunchReport) -> dict[str, Lack]:
    """Returns the metrics that a valid run lacks, by key, each with the reason."""
    lacks = dict(launched.incomplete)
    if late := lacks.pop("lateness", None):
        lacks |= dict.fromkeys(sorted(worker_metrics.LATENESS), late)
    begin, end = (launched.marks.get(name, {}) for name in ("begin", "end"))
    if "switches" in begin.keys() - end.keys():
        lacks["wakeups"] = Lack(why="the kernel stopped counting within the window")
    lost = Lack(why=LOST_CHILDREN)
    return lacks | (dict.fromkeys(_INCLUDE_CHILDREN, lost) if launched.is_blind else {})


def _stage_metrics(launched: LaunchReport) -> dict[str, Number]:
    """Computes the metrics of start-up, window and shutdown."""
    marks = launched.marks
    begin, end, last = (marks[name] for name in ("begin", "end", "exit"))
    started, ending = marks.get("started", begin), marks.get("ending", end)
    acted_s = _rise(marks["acting"], marks["acted"], "cpu_s") if "acted" in marks else 0
    idle_s, shutdown_s = _rise(begin, end, "cpu_s"), _rise(ending, last, "cpu_s")
    shutdown_s -= _waiting_to_end_s(marks, "cpu_s")
    window_s = _seconds(begin["monotonic_ns"], end["monotonic_ns"])
    system_s = min(idle_s, _rise(begin, end, "system_s"))
    ready_ns = begin["monotonic_ns"] if launched.ready_ns is None else launched.ready_ns
    metrics = {
        WINDOW: window_s,
        "time_cpu_window": idle_s,
        "time_cpu_startup": started["cpu_s"] + acted_s,
        "time_cpu_idle": idle_s,
        "time_cpu_shutdown": shutdown_s,
        "time_cpu_running": idle_s + shutdown_s,
        IDLE_USER: idle_s - system_s,
        IDLE_SYSTEM: system_s,
        "wakeups": _wakeups(launched),
        "time_startup": _seconds(launched.started_ns, ready_ns),
        "time_shutdown": _seconds(ending["monotonic_ns"], last["monotonic_ns"]),
    }
    if window_s > 0:
        metrics["cpu_share_idle"] = idle_s / window_s
    return metrics | {key: _rise(begin, end, key) for key in end.keys() & _COUNTS}


def _rise(before: Reading, after: Reading, key: str) -> Number:
    """Returns the rise of a count; 0 if it fell, as its parts are not read at the same moment."""
    return max(0, after[key] - before[key])  # 0, not 0.0: integers stay integers


def _waiting_to_end_s(marks: Mapping[str, Reading], key: str) -> Number:
    """The CPU of waiting between poke and end, at the window's rate: the rest is work."""
    if "poked" not in marks:
        return 0
    window, wait = (marks["begin"], marks["end"]), (marks["poked"], marks["last"])
    window_s, wait_s = (_seconds(*(it["monotonic_ns"] for it in both)) for both in (window, wait))
    return min(_rise(*wait, key), _rise(*window, key) * wait_s / max(window_s, 1e-9))


def _wakeups(launched: LaunchReport) -> Number:
    """Computes the wake-ups in the window.

    Where ``/proc`` is read, wake-ups of ended threads, and of children that their parents reaped,
    are missing. The run's total has them; the window's part of its unseen CPU estimates their part.
    """
    marks, used = launched.marks, launched.used
    begin, end = marks["begin"], marks["end"]
    last = marks.get("last", end)
    rise = end["wakeups"] - begin["wakeups"]
    unseen_s = _rise(begin, end, "unseen_s") if "unseen_s" in begin else 0.0
    if unseen_s > _UNSEEN_SHARE * _rise(begin, end, "cpu_s"):
        unseen = max(0, used["context_switches_voluntary"] - last["wakeups"])
        rise += round(unseen * unseen_s / max(unseen_s, last["unseen_s"]))
    return max(0, rise)


def _items(reports: Sequence[ProbeReport]) -> dict[str, Number]:
    """Sums the counts of the workers' probes."""
    if not reports:
        return {}
    names = ("items_in", "items_out", "polls")
    sums: dict[str, Number] = {name: sum(getattr(it, name) for it in reports) for name in names}
    items_out = sums["items_out"]
    return sums | ({"polls_per_item": sums["polls"] / items_out} if items_out else {})


def _lateness(reports: Sequence[_Lateness]) -> dict[str, Number]:
    # Imported here: few commands need it, and no run is under way that it could disturb.
    import numpy as np

    weighted = [pair for report in reports for pair in report.lateness_ns]
    if not weighted:
        return {}
    values, counts = zip(*weighted, strict=True)
    p50, p99 = np.quantile(values, (0.50, 0.99), weights=counts, method="inverted_cdf")
    return {
        "item_latency_p50": float(p50) / 1e9,
        "item_latency_p99": float(p99) / 1e9,
        "item_latency_max": max(report.lateness_max_ns for report in reports) / 1e9,
    }


def _seconds(begin_ns: Number, end_ns: Number) -> float:
    return (end_ns - begin_ns) / 1e9
