"""Files that a launcher leaves: the report of a run, or why it is not a measurement."""

import errno
import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import CountedTree
from waitbench.system import files

PROBES = "BENCH_PROBE_DIR"
"""The environment variable that names the folder of reports to dataflows/support/probe.py."""
WAITING = "BENCH_WAITING"
"""The environment variable that names a file to make when the window begins, for samplers."""
REPORT, REPORTS = "launched.json", "probes"
"""Names in a run's folder: the launcher's report, and the folder of the probes' reports."""
METRICS = "metrics"
"""The beginning of the names of files to which copies of a worker write metrics."""
OUTPUT = ("stdout", "stderr")
FAILURE, HAS_ENDED = "failure", "ended"
"""Files with the reason why a run is not a measurement; ``HAS_ENDED`` if its worker may end."""
LOST_CHILDREN = "it ignores SIGCHLD, and the kernel does not count here: its children's CPU is lost"


class Failure(Exception):
    """The reason why a run is not a measurement."""

    file = FAILURE


class HasEnded(Exception):
    """The worker has ended in a phase in which it may."""

    file = HAS_ENDED


def read_output(path: Path, program: str) -> bytes:
    """Reads the output of a command, such as a poke. Raises ``Failure`` if it is too long."""
    try:
        return files.read(path, most=files.MOST_OUTPUT)
    except OSError as error:
        why = f"the output of {program} cannot be read: {error.strerror}"
        if error.errno == errno.EFBIG:
            why = f"{program} wrote more than {files.MOST_OUTPUT >> 20} MiB to its output"
        raise Failure(why) from error


def write(path: Path, text: str) -> None:
    """Writes a file; replaces a link or pipe that a worker may have put there."""
    files.write_with(path, lambda part: part.write_text(text, "utf-8", "replace"))


def used_s() -> float:
    """Returns the CPU, in s, of this process and of all that have ended, with their descendants."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def write_report(
    path: Path, tree: CountedTree, started_ns: int, marks: Mapping[str, Any], **more: object
) -> None:
    """Writes a ``LaunchReport`` of execution/accounting.py. Other fields are in ``more``."""
    # Commands outside of the tree, such as pokes, count as the launcher's.
    launched = {
        "used": tree.usage(),
        "launcher_s": used_s() - sum(tree.reaped_s()),
        "by_proc": not tree.is_counted,
        "is_blind": tree.is_blind,
        "started_ns": started_ns,
        "marks": marks,
        **more,
    }
    write(path, json.dumps(launched))
