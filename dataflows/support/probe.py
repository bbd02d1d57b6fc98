"""Counts the polls and items of one process of a dataflow, and writes the counts when it ends.

waitbench sets ``BENCH_PROBE_DIR``, the folder in which each process writes ``process-<pid>.json``.
Without the variable nothing is written, so that a dataflow can be run by hand. stdout cannot be
used: bytewax writes log lines to it, and the lines of several processes mix.

waitbench counts CPU time, wake-ups and system calls from outside. To tell it when, a process writes
to the pipe ``marks`` in that folder at its first poll, and at the end of its input.

The workers of a process are threads, and share this module. So each source and each sink has its
own counters, and races cannot lose counts. They are added up at the end.
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
"""The marks of the first poll of a process, and of the end of its input."""


class SourceCounters:
    """Counts of one source: polls, items, and the sum of the numbers of its items.

    If one item is lost and another doubled, the sum is wrong, although the count is right.
    """

    __slots__ = ("ident_sum", "items", "polls")

    def __init__(self) -> None:
        self.polls = 0
        self.items = 0
        self.ident_sum = 0


class SinkCounters:
    """Counts of one sink, and the lateness of its items.

    Lateness is the time in ns from when an item was due until the sink received it.
    """

    __slots__ = ("ident_sum", "items", "lateness")

    def __init__(self) -> None:
        self.items = 0
        self.ident_sum = 0
        self.lateness = Histogram()

    def receive(self, ident: int, due_ns: int) -> None:
        """Counts an item, and records its lateness."""
        self.items += 1
        self.ident_sum += ident
        self.lateness.record(time.monotonic_ns() - due_ns)

    def receive_held(self, ident: int) -> None:
        """Counts an item that has no lateness, because a window held it."""
        self.items += 1
        self.ident_sum += ident


_sources: List[SourceCounters] = []
_sinks: List[SinkCounters] = []
_directory = os.environ.get(DIRECTORY_VARIABLE)
_marks: Optional[int] = None
_has_polled = False
_ended = itertools.count(1)
"""Numbers the sources that end, without a race between their threads."""


def source() -> SourceCounters:
    """Creates counters for a new source of this process."""
    counters = SourceCounters()
    _sources.append(counters)
    return counters


def sink() -> SinkCounters:
    """Creates counters for a new sink of this process."""
    counters = SinkCounters()
    _sinks.append(counters)
    return counters


def first_poll() -> None:
    """Writes the mark ``BEGIN`` if this is the first call in the process."""
    global _has_polled
    if not _has_polled:
        # Before the flag is set, so that no other thread writes ``END`` first.
        _mark(BEGIN)
        _has_polled = True


def end_of_input() -> None:
    """Each source calls this once, when it ends. The last call writes the mark ``END``."""
    if next(_ended) >= len(_sources):
        _mark(END)


def _mark(mark: bytes) -> None:
    """Writes to the pipe, so that waitbench reads its counters; does not wait for that."""
    if _marks is not None:
        with suppress(OSError):  # the reader has ended, or the pipe is full
            os.write(_marks, mark)


def report() -> Dict[str, Any]:
    """The counts of this process so far."""
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
    assert _directory, "called only if the variable is set"
    path = os.path.join(_directory, "process-%d.json" % os.getpid())
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report(), file)
    os.replace(path + ".part", path)


def _open_marks(path: str) -> Optional[int]:
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # the pipe has no reader
        return None


if _directory:
    _marks = _open_marks(os.path.join(_directory, "marks"))
    # Functions are called in reverse order: this one after those that a dataflow registers.
    atexit.register(_write)
