"""What one process of a workload observes of itself, written to a side channel at its end.

The harness sets ``BENCH_PROBE_DIR``; each process then leaves ``process-<pid>.json`` there. Without
the variable nothing is written, so a dataflow can be run by hand. stdout is not used: bytewax
writes log lines to it, and the lines of several processes interleave.

CPU time, switches and system calls are counted from outside. The pipe ``marks`` in that folder is
for telling when: a process writes a word to it at its first poll, and when its input has ended.

Workers of one process are threads and share this module; each source and each sink therefore counts
in an object of its own, so that no count is lost to a race, and the sums are taken once, at the
end.
"""

import atexit
import itertools
import json
import os
import time
from contextlib import suppress
from typing import Any, Dict, List, Optional

from .histogram import Histogram

DIRECTORY_VARIABLE = "BENCH_PROBE_DIR"
BEGIN, END = b"begin\n", b"end\n"
"""The marks: a process polls for the first time; its input has ended."""


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
_directory = os.environ.get(DIRECTORY_VARIABLE)
_marks: Optional[int] = None
_has_polled = False
_ended = itertools.count(1)
"""How many sources have ended: no two threads get the same number."""


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


def first_poll() -> None:
    """Each source calls this before its first poll; the first call of the process counts."""
    global _has_polled
    if not _has_polled:
        _mark(BEGIN)  # first: no thread's end may come before it
        _has_polled = True


def end_of_input() -> None:
    """Each source calls this when its input ends; that of the last one counts."""
    if next(_ended) >= len(_sources):
        _mark(END)


def _mark(name: bytes) -> None:
    """Has the counters read that are outside, and goes on meanwhile."""
    if _marks is not None:
        with suppress(OSError):  # whoever reads them is gone, or has many to read
            os.write(_marks, name)


def report() -> Dict[str, Any]:
    """The observations of this process so far."""
    return {
        "pid": os.getpid(),
        "polls": sum(c.polls for c in _sources),
        "items_in": sum(c.items for c in _sources),
        "items_out": sum(c.items for c in _sinks),
        "ident_sum_in": sum(c.ident_sum for c in _sources),
        "ident_sum_out": sum(c.ident_sum for c in _sinks),
        "lateness_ns": [pair for c in _sinks for pair in c.lateness.values()],
        "lateness_max_ns": max((c.lateness.maximum for c in _sinks), default=0),
    }


def _write() -> None:
    assert _directory, "registered only where there is one"
    path = os.path.join(_directory, "process-%d.json" % os.getpid())
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report(), file)
    os.replace(path + ".part", path)


def _open_marks(path: str) -> Optional[int]:
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads them
        return None


if _directory:
    _marks = _open_marks(os.path.join(_directory, "marks"))
    # Before any workload can register how it ends its helpers, so that this is done after that.
    atexit.register(_write)
