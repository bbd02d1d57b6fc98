"""What a launcher leaves of a run: what it used, or why it is not a measurement."""

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import CountedTree

PROBES = "BENCH_PROBE_DIR"
"""The environment variable that tells a workload where to report: dataflows/support/probe.py."""
WAITING = "BENCH_WAITING"
"""The environment variable that names a file to be made when the waiting begins, if somebody looks
on."""
REPORT, REPORTS = "launched.json", "probes"
"""Where, in the run's folder, our launcher reports, and the folder of the probes, as JSON."""
METRICS = "metrics"
"""What the files are called, in the run's folder, that copies of a worker write to."""
OUTPUT = ("stdout", "stderr")
"""What the run's output goes to, in its folder."""
FAILURE = "failure"
"""The file, in the run's folder, that says why it is not a measurement."""
HAS_ENDED = "ended"
"""The same where the worker has ended, and may."""
BEGIN, END, EXIT = "begin", "end", "exit"
"""The marks at which counters are read: a window's ends, and when all has ended."""
LAST = "last"
"""The mark before a worker is told to end, when all that it will have done but to end is done."""
STARTED, TOLD = "started", "told"
"""In a batch, those between which it waits for others: when it has settled, and when it is poked or
told to end."""

LATENESS, STOPPED = "lateness", "stop"
"""What a run may lack that counts all the same: how late it answered, how long it took to end."""


class Failure(Exception):
    """Why a run is not a measurement."""

    said_in = FAILURE


class HasEnded(Failure):
    """That the worker has ended in a phase in which it may."""

    said_in = HAS_ENDED


def write_report(
    path: Path, tree: CountedTree, started_ns: int, marks: Mapping[str, Any], **more: object
) -> None:
    """Writes what a tree that has ended used, its readings at the marks, and what else is known."""
    # What asks a worker and wakes it up is ours.
    ours = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    launched = {
        "used": tree.usage(),
        "launcher_s": sum(one.ru_utime + one.ru_stime for one in ours) - sum(tree.waited_s()),
        "by_proc": not tree.is_counted,
        "started_ns": started_ns,
        "marks": marks,
        **more,
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(launched))
    part.replace(path)
