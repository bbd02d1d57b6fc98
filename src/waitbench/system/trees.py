"""Finding, measuring and killing the descendants of a process (Linux); standard library alone."""

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
_PARTS = ("Pss", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb")
_PR_SET_CHILD_SUBREAPER = 36
_STATE, _PARENT, _GROUP, _FLAGS, _SYSTEM, _START_TIME = 0, 1, 2, 6, 12, 19
_FAULTS_OF_CHILDREN, _USER_OF_CHILDREN, _SYSTEM_OF_CHILDREN = 8, 13, 14
"""Positions in ``tasks.stat`` (proc(5): fields 3, 4, 5, 9, 15, 22, 11, 16 and 17)."""
_PF_KTHREAD = 0x00200000
_POLL_EVERY_S = 0.005


def adopt_orphans() -> None:
    """Makes this process the parent of its orphaned descendants (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def below(*roots: int, without: Collection[int] = ()) -> list[int]:
    """The descendants of processes, each behind its parent, except those below ``without``."""
    children: dict[int, list[int]] = {}
    for pid in all_processes():
        if stat := tasks.stat(pid):
            children.setdefault(int(stat[_PARENT]), []).append(pid)
    pids = [pid for root in roots for pid in children.get(root, ()) if pid not in without]
    for pid in pids:  # grows in the loop
        pids += children.get(pid, [])
    return pids


def is_kernel_thread(pid: int) -> bool:
    stat = tasks.stat(pid)
    return bool(stat) and bool(int(stat[_FLAGS]) & _PF_KTHREAD)


def in_group(group: int) -> list[int]:
    with suppress(PermissionError):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return []
    return [
        pid for pid in all_processes() if (stat := tasks.stat(pid)) and int(stat[_GROUP]) == group
    ]


def kill(
    find: Callable[[], Iterable[int]], within_s: float = 10.0, spared: int | None = None
) -> int:
    """Kills processes until ``find`` returns none, or the time is over; returns their number.

    Signals whole groups, except ``spared`` (by default our own), which has the shell or job that
    started the harness. Stops all processes before it kills the first, so that none can fork.
    """
    end = time.monotonic() + within_s
    pids, stopped = {*find()}, set[int]()
    count = len(identities(pids))
    spared = os.getpgrp() if spared is None else spared
    while pids - stopped and time.monotonic() < end:
        _signal(pids, signal.SIGSTOP, spared)
        stopped |= pids
        pids = {*find()}
    while pids and time.monotonic() < end:
        _signal(pids, signal.SIGKILL, spared)
        if not identities(pids):
            break
        time.sleep(_POLL_EVERY_S)
        pids = {*find()}
    return count


def _signal(pids: Collection[int], number: int, spared: int) -> None:
    """Signals processes and their groups: a child may fork and exit before it is ever found."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            has_other_leader = group not in pids and Path(f"/proc/{group}").exists()
            if has_other_leader or group == spared:
                os.kill(pid, number)
            else:
                os.killpg(group, number)


def identities(pids: Iterable[int]) -> set[tuple[int, int]]:
    """PID and start time of each running process."""
    stats = ((pid, tasks.stat(pid)) for pid in pids)
    return {
        (pid, int(stat[_START_TIME])) for pid, stat in stats if stat and stat[_STATE] not in "ZX"
    }


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of running processes, in ns, and of their reaped children, in ticks."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += clock_s(pid)
            total += _ticks_s(pid, _USER_OF_CHILDREN, _SYSTEM_OF_CHILDREN)
    return total


def clock_s(pid: int) -> float:
    """CPU seconds of a process with its ended threads. Raises ``OSError`` if it is gone."""
    # The result of clock_getcpuclockid(3), which Python lacks.
    return time.clock_gettime((~pid << 3) | 2)


def system_s(pids: Iterable[int]) -> float:
    """System time of running processes and of their reaped children, by ticks."""
    return sum(_ticks_s(pid, _SYSTEM, _SYSTEM_OF_CHILDREN) for pid in pids)


def threads(pids: Iterable[int]) -> dict[tasks.Thread, tasks.Used]:
    """Resources that each living thread has used so far."""
    keys = [(pid, tid) for pid in pids for tid in tasks.threads(pid)]
    return {key: used for key in keys if (used := tasks.used(*key)) is not None}


def faults_of_ended(pids: Iterable[int]) -> dict[int, int]:
    """Page faults of the reaped children of each process: a process that has ended had some."""
    stats = ((pid, tasks.stat(pid)) for pid in pids)
    return {pid: int(stat[_FAULTS_OF_CHILDREN]) for pid, stat in stats if stat}


class Memory(NamedTuple):
    """Memory of processes in bytes; a shared page counts in proportion to its users."""

    read_at_s: float
    """On the monotonic clock."""
    proportional: int
    """PSS, with swap and huge pages, which PSS leaves out."""
    allocated: int
    """The same without pages of files: independent of other programs."""


def memory(pids: Collection[int]) -> Memory | None:
    """The memory of running processes; ``None`` if none runs, or any of it may not be read."""
    proportional = allocated = 0
    is_known = False
    for pid in pids:
        if any(_is_hidden(child) for child in _children(pid) if child not in pids):
            return None
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except PermissionError:
            return None
        except OSError:  # it has ended
            continue
        is_known = True
        sizes = {name: 1024 * int(size) for name, size in _SIZE.findall(text)}
        used = sum(sizes.get(name, 0) for name in _PARTS)
        proportional += used
        allocated += used - sizes.get("Pss_File", 0)
    return Memory(time.monotonic(), proportional, allocated) if is_known else None


def _children(pid: int) -> list[int]:
    """The children of a process, even if /proc hides them as another user's (hidepid)."""
    children = list[int]()
    for tid in tasks.threads(pid):
        with suppress(OSError):
            text = Path(f"/proc/{pid}/task/{tid}/children").read_text()
            children += map(int, text.split())
    return children


def _is_hidden(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not tasks.stat(pid)
    except ProcessLookupError:
        pass
    return False


def _ticks_s(pid: int, *fields: int) -> float:
    stat = tasks.stat(pid)
    return sum(int(stat[field]) for field in fields) / os.sysconf("SC_CLK_TCK") if stat else 0.0
