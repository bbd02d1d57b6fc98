"""The descendants of a process, read from ``/proc`` while they live, and killed (Linux).

The standard library alone: launchers import this, and what their start takes is in each run.
"""

import ctypes
import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from waitbench.system import tasks

_SIZE = re.compile(r"^(\w+):\s*(\d+) kB$", re.MULTILINE)
_PR_SET_CHILD_SUBREAPER = 36
_STATE, _PARENT, _GROUP, _FLAGS, _SYSTEM, _BEGUN = 0, 1, 2, 6, 12, 19
_FAULTS_OF_ENDED, _USER_OF_ENDED, _SYSTEM_OF_ENDED = 8, 13, 14
"""Fields of ``/proc/<pid>/stat`` behind the name (proc(5): 3, 4, 5, 9, 15, 22, 11, 16 and 17)."""
_PF_KTHREAD = 0x00200000
_LOOKS_EVERY_S = 0.005


def adopt_orphans() -> None:
    """Has this process inherit what its descendants leave behind (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def all_processes() -> list[int]:
    """All that this user may know of."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def below(*roots: int, without: Collection[int] = ()) -> list[int]:
    """The descendants of processes, each behind its parent, but for some children and theirs."""
    children: dict[int, list[int]] = {}
    for one in all_processes():
        if stat := _stat(one):
            children.setdefault(int(stat[_PARENT]), []).append(one)
    found = [one for root in roots for one in children.get(root, ()) if one not in without]
    for one in found:  # which grows meanwhile
        found += children.get(one, [])
    return found


def is_kernel_thread(process: int) -> bool:
    """Whether a process is a thread of the kernel's own."""
    stat = _stat(process)
    return bool(stat) and bool(int(stat[_FLAGS]) & _PF_KTHREAD)


def in_group(group: int) -> list[int]:
    """The members of a process group."""
    with suppress(PermissionError):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return []
    return [one for one in all_processes() if (stat := _stat(one)) and int(stat[_GROUP]) == group]


def kill(
    find: Callable[[], Iterable[int]], within_s: float = 10.0, spared: int | None = None
) -> int:
    """Kills processes until none is found any more, or seconds have passed.

    Of the process group ``spared``, or else of ours, only those are killed that are found: it is
    that of the shell, or of the job, that the harness was started by. All are stopped before one is
    killed, so that none starts another meanwhile, and who adopts orphans still does. Returns how
    many ran at first.
    """
    end = time.monotonic() + within_s
    found, stopped = {*find()}, set[int]()
    count = len(_running(found))
    spared = os.getpgrp() if spared is None else spared
    while found - stopped and time.monotonic() < end:
        _signal(found, signal.SIGSTOP, spared)
        stopped |= found
        found = {*find()}
    while found and time.monotonic() < end:
        _signal(found, signal.SIGKILL, spared)
        if not _running(found):
            break
        time.sleep(_LOOKS_EVERY_S)
        found = {*find()}
    return count


def _running(those: Iterable[int]) -> set[int]:
    return {one for one, _ in identities(those)}


def _signal(those: Collection[int], number: int, spared: int) -> None:
    """Sends processes a signal, and their groups: who forks and goes at once is never met alive."""
    for one in those:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(one)
            leader_is_other = group not in those and Path(f"/proc/{group}").exists()
            if leader_is_other or group == spared:
                os.kill(one, number)
            else:
                os.killpg(group, number)


def identities(those: Iterable[int]) -> set[tuple[int, int]]:
    """Number and time of creation of each that runs."""
    stats = ((one, _stat(one)) for one in those)
    return {(one, int(stat[_BEGUN])) for one, stat in stats if stat and stat[_STATE] not in "ZX"}


def cpu_s(those: Iterable[int]) -> float:
    """CPU seconds of those that run, and of children that these have waited for.

    What runs is read from its clock, in nanoseconds; what has ended counts in the kernel's ticks.
    """
    total = 0.0
    for one in those:
        with suppress(OSError):
            total += clock_s(one)
            total += _ticks_s(one, _USER_OF_ENDED, _SYSTEM_OF_ENDED)
    return total


def clock_s(process: int) -> float:
    """CPU seconds of a process, its ended threads among them. Raises ``OSError`` if it is gone."""
    # What clock_getcpuclockid(3) would say, for which Python has no name.
    return time.clock_gettime((~process << 3) | 2)


def system_s(those: Iterable[int]) -> float:
    """System time of those that run, and of children that these have waited for, by ticks."""
    return sum(_ticks_s(one, _SYSTEM, _SYSTEM_OF_ENDED) for one in those)


def threads(processes: Iterable[int]) -> dict[int, tasks.Used]:
    """What each thread that lives has used so far."""
    found = ((tid, tasks.used(pid, tid)) for pid in processes for tid in tasks.threads(pid))
    return {tid: used for tid, used in found if used is not None}


def faults_of_ended(processes: Iterable[int]) -> dict[int, int]:
    """Page faults of the children that each process has waited for: who has ended, had some."""
    stats = ((process, _stat(process)) for process in processes)
    return {process: int(stat[_FAULTS_OF_ENDED]) for process, stat in stats if stat}


class Memory(NamedTuple):
    """What processes have in memory, in bytes; a page that several share counts a part for each."""

    read_at_s: float
    """By the monotonic clock."""
    proportional: int
    """All of it (PSS)."""
    allocated: int
    """Without pages of files, and with what is swapped out: what other programs do is not in it."""


def memory(processes: Collection[int]) -> Memory | None:
    """The memory of those that run. ``None`` where none does, or that of some may not be read.

    A part would look like all.
    """
    proportional = allocated = 0
    is_known = False
    for process in processes:
        if any(_is_hidden(child) for child in _children(process) if child not in processes):
            return None
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except PermissionError:
            return None
        except OSError:  # it has ended
            continue
        is_known = True
        sizes = {name: 1024 * int(size) for name, size in _SIZE.findall(text)}
        proportional += sizes.get("Pss", 0)
        allocated += sizes.get("Pss", 0) - sizes.get("Pss_File", 0) + sizes.get("SwapPss", 0)
    return Memory(time.monotonic(), proportional, allocated) if is_known else None


def _children(process: int) -> list[int]:
    """Those of a process, even of another user whose processes /proc hides (hidepid)."""
    found = list[int]()
    for tid in tasks.threads(process):
        with suppress(OSError):
            text = Path(f"/proc/{process}/task/{tid}/children").read_text()
            found += map(int, text.split())
    return found


def _is_hidden(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return not _stat(process)
    except ProcessLookupError:
        pass
    return False


def _ticks_s(process: int, *fields: int) -> float:
    stat = _stat(process)
    return sum(int(stat[one]) for one in fields) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def _stat(process: int) -> list[str]:
    """What the kernel says of a process; nothing where it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
