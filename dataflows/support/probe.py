"""What one process of a workload observes of itself, written to a side channel when the process ends.

The harness sets ``BENCH_PROBE_DIR``; each process then leaves ``process-<pid>.json`` there. Without the variable
nothing is written, so a dataflow can be run by hand. stdout is not used: bytewax writes log lines to it, and the lines of
several processes interleave.

Workers of one process are threads and share this module; each source and each sink therefore counts in an object of its
own, so that no count is lost to a race, and the sums are taken once, at the end.
"""

import atexit
import json
import os
from typing import Any, Dict, List

DIRECTORY_VARIABLE = "BENCH_PROBE_DIR"


class Counters:
    """Counts of one source or one sink: polls, items, and the sum of the items' identities.

    The sum tells a lost item and a doubled one apart from a correct run, which a count alone cannot.
    """

    __slots__ = ("ended", "ident_sum", "items", "polls")

    def __init__(self) -> None:
        self.polls = 0
        self.items = 0
        self.ident_sum = 0
        self.ended = False


_sources: List[Counters] = []
_sinks: List[Counters] = []


def source() -> Counters:
    """Counters for a new source of this process."""
    counters = Counters()
    _sources.append(counters)
    return counters


def sink() -> Counters:
    """Counters for a new sink of this process."""
    counters = Counters()
    _sinks.append(counters)
    return counters


def first_poll() -> None:
    """Called by each source before its first poll."""


def end_of_input(counters: Counters) -> None:
    """Called by each source when its input ends."""
    counters.ended = True


def report() -> Dict[str, Any]:
    """The observations of this process so far."""
    return {
        "pid": os.getpid(),
        "polls": sum(c.polls for c in _sources),
        "items_in": sum(c.items for c in _sources),
        "items_out": sum(c.items for c in _sinks),
        "ident_sum_in": sum(c.ident_sum for c in _sources),
        "ident_sum_out": sum(c.ident_sum for c in _sinks),
    }


def _write() -> None:
    path = os.path.join(os.environ[DIRECTORY_VARIABLE], "process-%d.json" % os.getpid())
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report(), file)
    os.replace(path + ".part", path)


if DIRECTORY_VARIABLE in os.environ:
    atexit.register(_write)
