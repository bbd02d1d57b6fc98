"""Reads the state of processes and threads in ``/proc``, which wakes none, and kills processes.

Linux only. Standard library only, as launchers import this.
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

_MAX_BYTES, _MAX_COMMAND_LINE_BYTES = 2**14, 2**21
_SIZE = re.compile(r"^(\w+):\s*(\d+) kB$", re.MULTILINE)
_MEMORY_PARTS = ("Pss", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STATE, _PARENT, _GROUP, _FLAGS, _SYSTEM, _START_TIME = 0, 1, 2, 6, 12, 19
_FAULTS_OF_CHILDREN, _USER_OF_CHILDREN, _SYSTEM_OF_CHILDREN = 8, 13, 14
"""Positions in ``stat`` (proc(5): fields 3, 4, 5, 9, 15, 22, 11, 16 and 17)."""
_PF_EXITING, _PF_KTHREAD = 0x00000004, 0x00200000
_POLL_EVERY_S = 0.005
RUNNING = -1
"""Takes the place of a system call's number if a thread is on a CPU, or waits for a CPU."""

Thread = tuple[int, int]
"""The ids of a process and of its thread."""


class Used(NamedTuple):
    """Resources that a thread has used so far."""

    wakeups: int
    """Voluntary context switches: each sleep ends in a wake-up."""
    cpu_ns: int
    delayed_ns: int = 0
    """The time that it waited for a CPU."""
    preempted: int = 0
    """Involuntary context switches."""

    def since(self, before: "Used") -> "Used":
        return Used(*(now - then for now, then in zip(self, before, strict=True)))


def has_schedstat() -> bool:
    """Whether the kernel keeps the statistics that ``thread_usage`` reads."""
    return Path("/proc/self/schedstat").exists()


def thread_ids(pid: int) -> list[int]:
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return []


def thread_usage(pid: int, tid: int) -> Used | None:
    """Resources of a thread; its CPU time is 0 if the kernel keeps no statistics.

    The preemptions of a zombie are 0: the kernel's own counter has stopped before the thread.
    """
    status = _read(f"/proc/{pid}/task/{tid}/status")
    words = status.partition(b"\nvoluntary_ctxt_switches:")[2].split()
    if not words:
        return None
    preempted = 0 if b"\nState:\tZ" in status else int(words[2])
    schedstat = _read(f"/proc/{pid}/task/{tid}/schedstat") or b"0 0 0"
    cpu_ns, delayed_ns, *_ = map(int, schedstat.split())
    return Used(int(words[0]), cpu_ns, delayed_ns, preempted)


def ignores_children(pid: int) -> bool:
    """Whether a process ignores SIGCHLD, so that the kernel drops its children's usage."""
    mask = _read(f"/proc/{pid}/status").partition(b"\nSigIgn:\t")[2]
    return bool(int(mask[:16] or b"0", 16) >> (signal.SIGCHLD - 1) & 1)


def sleeps(pid: int, tid: int) -> int | None:
    """The number of times that a thread has slept: its voluntary context switches."""
    return (used := thread_usage(pid, tid)) and used.wakeups


def system_call(pid: int, tid: int) -> int | None:
    """The number of the system call that a thread is in, or ``RUNNING``; ``None`` if unknown."""
    words = _read(f"/proc/{pid}/task/{tid}/syscall").split()
    return None if not words else RUNNING if words[0] == b"running" else int(words[0])


def stat(task: int | str) -> list[str]:
    """The fields of ``/proc/<task>/stat`` after the name, which may contain any character."""
    return _read(f"/proc/{task}/stat").decode("utf-8", "replace").rpartition(")")[2].split()


def _stats(pids: Iterable[int]) -> dict[int, list[str]]:
    return {pid: fields for pid in pids if (fields := stat(pid))}


def is_stopped(pid: int, tid: int) -> bool:
    """Whether a thread has been stopped by a signal, or has ended."""
    fields = stat(f"{pid}/task/{tid}")
    return not fields or fields[0] in "TtZX"


def thread_name(pid: int, tid: int) -> str:
    return _read(f"/proc/{pid}/task/{tid}/comm").decode("utf-8", "replace").strip()


def arguments(pid: int) -> list[str]:
    text = _read(f"/proc/{pid}/cmdline", _MAX_COMMAND_LINE_BYTES).decode("utf-8", "replace")
    return text.rstrip("\0").split("\0")


def _read(path: str, max_bytes: int = _MAX_BYTES) -> bytes:
    # Without Python's file objects, as this runs a thousand times a second.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, max_bytes)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def adopt_orphans() -> None:
    """Makes this process the parent of all its descendants whose parents end."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def signal_at_end_of_parent(number: int) -> None:
    """Has the kernel send this process a signal when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def all_processes() -> dict[int, int]:
    """All PIDs, each with the inode of its folder: that of a later process with the PID differs."""
    with os.scandir("/proc") as entries:
        return {int(entry.name): entry.inode() for entry in entries if entry.name.isdecimal()}


def descendants(
    *roots: int, without: Collection[int] = (), others: Collection[tuple[int, int]] = ()
) -> list[int]:
    """The descendants of ``roots``, parents first, without children in ``without`` and theirs.

    Processes in ``others``, PIDs with inodes, are known not to be descendants, and are not read.
    """
    children: dict[int, list[int]] = {}
    unknown = (process[0] for process in all_processes().items() if process not in others)
    for pid, fields in _stats(unknown).items():
        children.setdefault(int(fields[_PARENT]), []).append(pid)
    pids = [pid for root in roots for pid in children.get(root, ()) if pid not in without]
    for pid in pids:  # the loop appends to it
        pids += children.get(pid, [])
    return pids


def tree(root: int) -> list[int]:
    return [root, *descendants(root)]


def is_kernel_thread(pid: int) -> bool:
    fields = stat(pid)
    return bool(fields) and bool(int(fields[_FLAGS]) & _PF_KTHREAD)


def is_protected(pid: int) -> bool:
    """Whether a process runs a program that this user may not read, so that it has no counters."""
    with suppress(OSError):
        # Root owns the files of such a process in /proc, and also those of one that is exiting.
        is_owned_by_root = Path(f"/proc/{pid}/stat").stat().st_uid == 0
        if os.geteuid() != 0 and is_owned_by_root and (fields := stat(pid)):
            return not int(fields[_FLAGS]) & _PF_EXITING
    return False


def group_members(group: int) -> list[int]:
    with suppress(PermissionError):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return []
    stats = _stats(all_processes())
    return [pid for pid, fields in stats.items() if int(fields[_GROUP]) == group]


def kill(
    find: Callable[[], Iterable[int]], within_s: float = 10.0, spared: int | None = None
) -> int:
    """Kills the processes that ``find`` returns, until there are none, or time is up.

    Returns the number of them at first. Signals whole process groups, except the group ``spared``
    (by default that of this process), in which the user's shell may be. Stops all processes before
    it kills the first, so that none can fork.
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
        pids = {*find()}  # again, as the processes of the last search may have forked since
        if not identities(pids):
            break
        time.sleep(_POLL_EVERY_S)
    return count


def _signal(pids: Collection[int], number: int, spared: int) -> None:
    """Signals processes and their groups, as a child may fork and exit before it is found."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            has_other_leader = group not in pids and Path(f"/proc/{group}").exists()
            if has_other_leader or group == spared:
                os.kill(pid, number)
            else:
                os.killpg(group, number)


def identities(pids: Iterable[int]) -> set[tuple[int, int]]:
    """PID and start time of each process that has not ended: a PID may be used again."""
    return {
        (pid, int(fields[_START_TIME]))
        for pid, fields in _stats(pids).items()
        if fields[_STATE] not in "ZX"
    }


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of running processes, exact to ns, and of their reaped children, in ticks."""
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += clock_s(pid)
            total += _ticks_s(pid, _USER_OF_CHILDREN, _SYSTEM_OF_CHILDREN)
    return total


def clock_s(pid: int) -> float:
    """CPU seconds of a process, including ended threads. Raises ``OSError`` if it has ended."""
    # The clock's number is that of clock_getcpuclockid(3), which Python lacks.
    return time.clock_gettime((~pid << 3) | 2)


def system_s(pids: Iterable[int]) -> float:
    """System time of running processes and of their reaped children, in ticks."""
    return sum(_ticks_s(pid, _SYSTEM, _SYSTEM_OF_CHILDREN) for pid in pids)


def usage_by_thread(pids: Iterable[int]) -> dict[Thread, Used]:
    keys = [(pid, tid) for pid in pids for tid in thread_ids(pid)]
    return {key: used for key in keys if (used := thread_usage(*key)) is not None}


def faults_of_ended(pids: Iterable[int]) -> dict[int, int]:
    """Page faults of the reaped children of each process, which rise when it reaps a child."""
    return {pid: int(fields[_FAULTS_OF_CHILDREN]) for pid, fields in _stats(pids).items()}


class Memory(NamedTuple):
    """Memory of processes in bytes; a shared page counts in proportion to its users."""

    read_at_s: float
    """On the monotonic clock."""
    proportional: int
    """PSS (proportional set size), plus swap and huge pages, which are not in PSS."""
    allocated: int
    """The same without pages of files, which other programs may share."""


def memory(pids: Iterable[int]) -> Memory | None:
    """The memory of running processes; ``None`` if none runs, or one may not be read."""
    proportional = allocated = 0
    is_known = False
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except PermissionError:
            return None
        except OSError:  # it has ended
            continue
        is_known = True
        sizes = {name: 1024 * int(size) for name, size in _SIZE.findall(text)}
        used = sum(sizes.get(name, 0) for name in _MEMORY_PARTS)
        proportional += used
        allocated += used - sizes.get("Pss_File", 0)
    return Memory(time.monotonic(), proportional, allocated) if is_known else None


def _ticks_s(pid: int, *positions: int) -> float:
    fields = stat(pid)
    ticks = sum(int(fields[position]) for position in positions) if fields else 0
    return ticks / os.sysconf("SC_CLK_TCK")
