"""What one process of a workload observes of itself, written to a side channel at its end.

The harness sets ``BENCH_PROBE_DIR``; each process then leaves ``process-<pid>.json`` there. Without
the variable nothing is written, so a dataflow can be run by hand. stdout is not used: bytewax
writes log lines to it, and the lines of several processes interleave.

Workers of one process are threads and share this module; each source and each sink therefore counts
in an object of its own, so that no count is lost to a race, and the sums are taken once, at the
end.
"""

import atexit
import json
import os
import resource
import time
from typing import Any, Dict, List, Optional

from .histogram import Histogram

DIRECTORY_VARIABLE = "BENCH_PROBE_DIR"
SPAWNED_VARIABLE = "BENCH_SPAWNED_NS"
COUNTER_VARIABLE = "BENCH_SYSTEM_CALLS"
"""The environment variable that says whom to ask for the system calls of the run, if anybody.

The name of an abstract socket: whoever connects is told their number at that moment, in digits."""
WAITING_VARIABLE = "BENCH_WAITING"
"""The environment variable that names a file to be made at the first poll, if somebody looks on."""

_ANSWERS_WITHIN_S = 1.0
_counter = os.environ.get(COUNTER_VARIABLE)


class SourceCounters:
    """Counts of one source: polls, items, and the sum of the items' identities.

    The sum tells a lost item and a doubled one apart from a correct run, which a count alone
    cannot.
    """

    __slots__ = ("ident_sum", "items", "polls")

    def __init__(self) -> None:
        self.polls = 0
        self.items = 0
        self.ident_sum = 0


class SinkCounters:
    """Counts of one sink, and how late its items were.

    Lateness is the time from when an item was due to when the sink got it, in ns.
    """

    __slots__ = ("ident_sum", "items", "lateness")

    def __init__(self) -> None:
        self.items = 0
        self.ident_sum = 0
        self.lateness = Histogram()

    def got(self, ident: int, due_ns: int) -> None:
        """The sink has one more item."""
        self.items += 1
        self.ident_sum += ident
        self.lateness.record(time.monotonic_ns() - due_ns)

    def got_on_time(self, ident: int) -> None:
        """The sink has one more that came when it had to: a window held it, or it was shed."""
        self.items += 1
        self.ident_sum += ident


_sources: List[SourceCounters] = []
_sinks: List[SinkCounters] = []
_totals: Dict[str, float] = {}
_first_poll: Optional[Dict[str, Any]] = None
_end_of_input: Optional[Dict[str, Any]] = None
_directory = os.environ.get(DIRECTORY_VARIABLE)


def source() -> SourceCounters:
    """Counters for a new source of this process."""
    counters = SourceCounters()
    _sources.append(counters)
    return counters


def sink() -> SinkCounters:
    """Counters for a new sink of this process."""
    counters = SinkCounters()
    _sinks.append(counters)
    return counters


def add(**values: float) -> None:
    """Adds to this process's totals. To be called at its end: there is no lock."""
    for name, value in values.items():
        _totals[name] = _totals.get(name, 0.0) + value


def first_poll() -> None:
    """Each source calls this before its first poll; the first call of the process counts."""
    global _first_poll
    if _first_poll is None:
        _first_poll = _now()
        _say_that_it_waits()


def end_of_input() -> None:
    """Each source calls this when its input ends; the last call of the process counts."""
    global _end_of_input
    _end_of_input = _now()


def _say_that_it_waits() -> None:
    path = os.environ.get(WAITING_VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8"):
            pass


def _now() -> Dict[str, Any]:
    """The monotonic clock, and what the whole process with its threads has used so far.

    CPU time in seconds, and the number of times that a thread gave up its CPU to wait. System
    calls are those of all that the run has started, ``None`` where they cannot be counted.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "monotonic_ns": time.monotonic_ns(),
        "user_s": used.ru_utime,
        "system_s": used.ru_stime,
        "switches_voluntary": used.ru_nvcsw,
        "system_calls": _system_calls(),
    }


def _system_calls() -> Optional[int]:
    """Those of the whole run so far, which are counted from outside."""
    if not _counter:
        return None
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_ANSWERS_WITHIN_S)
            asking.connect("\0" + _counter)
            return int(asking.recv(32))
    except (OSError, ValueError):
        return None  # absent, never wrong


def report() -> Dict[str, Any]:
    """The observations of this process so far."""
    spawned = os.environ.get(SPAWNED_VARIABLE)
    # The programs that this process has started and waited for.
    helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "pid": os.getpid(),
        "polls": sum(c.polls for c in _sources),
        "items_in": sum(c.items for c in _sources),
        "items_out": sum(c.items for c in _sinks),
        "ident_sum_in": sum(c.ident_sum for c in _sources),
        "ident_sum_out": sum(c.ident_sum for c in _sinks),
        "spawned_ns": int(spawned) if spawned else None,
        "loaded": _loaded,
        "first_poll": _first_poll,
        "end_of_input": _end_of_input,
        "exit": _now(),
        "helpers": {"user_s": helpers.ru_utime, "system_s": helpers.ru_stime},
        "lateness_ns": [pair for c in _sinks for pair in c.lateness.values()],
        "lateness_max_ns": max((c.lateness.maximum for c in _sinks), default=0),
        "totals": _totals,
    }


_loaded = _now() if _directory else None
"""From when on a worker waits that never has anything to poll."""


def _write() -> None:
    assert _directory, "registered only where there is one"
    path = os.path.join(_directory, "process-%d.json" % os.getpid())
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report(), file)
    os.replace(path + ".part", path)


if _directory:
    # Before any workload can register how it ends its helpers, so that this is done after that.
    atexit.register(_write)
