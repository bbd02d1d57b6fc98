"""A process and all its descendants, read from ``/proc`` while they live (Linux, by psutil)."""

import ctypes
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(*, does: bool = True) -> None:
    """Has this process inherit what its descendants leave behind, or no longer (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def processes(root: int) -> Iterator[psutil.Process]:
    """A process and its descendants, as far as they are there."""
    with suppress(psutil.Error):
        first = psutil.Process(root)
        yield first
        yield from first.children(recursive=True)


def below(root: int) -> list[psutil.Process]:
    """The descendants of a process."""
    with suppress(psutil.Error):
        return psutil.Process(root).children(recursive=True)
    return []


def identities(those: Iterable[psutil.Process]) -> set[tuple[int, float]]:
    """Number and time of creation of each that runs."""
    return {
        (one.pid, one.create_time())
        for one in those
        if _status(one) not in (None, psutil.STATUS_ZOMBIE)
    }


def cpu_s(those: Iterable[psutil.Process]) -> float:
    """CPU seconds of those that run, and of children that these have waited for.

    What runs is read from its clock, in nanoseconds; what has ended counts in the kernel's ticks.
    """
    total = 0.0
    for one in those:
        with suppress(psutil.Error, OSError):
            ended = one.cpu_times()
            total += ended.children_user + ended.children_system + _clock_s(one.pid)
    return total


def system_s(those: Iterable[psutil.Process]) -> float:
    """System time of those that run, and of children that these have waited for, by ticks."""
    total = 0.0
    for one in those:
        with suppress(psutil.Error):
            used = one.cpu_times()
            total += used.system + used.children_system
    return total


def switches(those: Iterable[psutil.Process]) -> dict[int, tuple[int, int]]:
    """Context switches of each thread that lives: when it went to sleep, when it was preempted."""
    found: dict[int, tuple[int, int]] = {}
    for one in those:
        with suppress(OSError):
            for task in Path(f"/proc/{one.pid}/task").iterdir():
                with suppress(OSError):
                    status = (task / "status").read_text("utf-8", "replace")
                    voluntary, involuntary = map(int, _SWITCHES.findall(status))
                    found[int(task.name)] = voluntary, involuntary
    return found


def proportional_bytes(those: Iterable[psutil.Process]) -> int | None:
    """The memory of those that run; what several share counts a part for each (PSS).

    ``None`` where that of some may not be read: a part would look like all.
    """
    total = 0
    for one in those:
        try:
            total += one.memory_full_info().pss
        except psutil.AccessDenied:
            return None
        except psutil.Error:  # it has ended
            continue
    return total


def _clock_s(pid: int) -> float:
    # What clock_getcpuclockid(3) would say, for which Python has no name.
    return time.clock_gettime((~pid << 3) | 2)


def _status(process: psutil.Process) -> str | None:
    try:
        return process.status()
    except psutil.Error:
        return None
