"""Processes and threads as ``/proc`` shows them (Linux). Reading it wakes nobody up."""

import os
import signal
from pathlib import Path
from typing import NamedTuple

_MAX_BYTES, _MAX_COMMAND_LINE_BYTES = 2**14, 2**21
RUNNING = -1
"""In place of a system call's number: the thread is on a CPU, or waits for one."""
Thread = tuple[int, int]
"""PID and TID."""


class Used(NamedTuple):
    """Resources that a thread has used so far."""

    wakeups: int
    """Voluntary context switches: each sleep ends in a wake-up."""
    cpu_ns: int
    delayed_ns: int = 0
    """Time that the thread waited for a CPU."""
    preempted: int = 0

    def since(self, before: "Used") -> "Used":
        return Used(*(now - then for now, then in zip(self, before, strict=True)))


def is_possible() -> bool:
    """Whether the kernel keeps the statistics that ``used`` reads."""
    return Path("/proc/self/schedstat").exists()


def threads(pid: int) -> list[int]:
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return []


def used(pid: int, tid: int) -> Used | None:
    """Resources of a thread; without CPU time if the kernel has no statistics."""
    switches = _switches(pid, tid)
    if switches is None:
        return None
    schedstat = _read(f"/proc/{pid}/task/{tid}/schedstat") or b"0 0 0"
    cpu_ns, delayed_ns, *_ = map(int, schedstat.split())
    return Used(switches[0], cpu_ns, delayed_ns, switches[1])


def ignores_children(pid: int) -> bool:
    """Whether a process ignores SIGCHLD, so that its children's usage is lost."""
    mask = _read(f"/proc/{pid}/status").partition(b"\nSigIgn:\t")[2]
    return bool(int(mask[:16] or b"0", 16) >> (signal.SIGCHLD - 1) & 1)


def switches(pid: int, tid: int) -> int | None:
    """Counts the sleeps of a thread."""
    counts = _switches(pid, tid)
    return counts and counts[0]


def _switches(pid: int, tid: int) -> tuple[int, int] | None:
    """Counts voluntary and involuntary context switches; of a zombie only voluntary ones.

    The kernel's counter leaves a thread before that has ended.
    """
    status = _read(f"/proc/{pid}/task/{tid}/status")
    words = status.partition(b"\nvoluntary_ctxt_switches:")[2].split()
    if not words:
        return None
    return int(words[0]), 0 if b"\nState:\tZ" in status else int(words[2])


def call(pid: int, tid: int) -> int | None:
    """The number of the system call a thread sleeps in, or ``RUNNING``; ``None`` if unknown."""
    words = _read(f"/proc/{pid}/task/{tid}/syscall").split()
    return None if not words else RUNNING if words[0] == b"running" else int(words[0])


def stat(task: int | str) -> list[str]:
    """Reads the fields after the name, which may hold anything, of ``/proc/<task>/stat``."""
    return _read(f"/proc/{task}/stat").decode("utf-8", "replace").rpartition(")")[2].split()


def is_stopped(pid: int, tid: int) -> bool:
    """Whether a thread has been stopped by a signal, or has ended."""
    fields = stat(f"{pid}/task/{tid}")
    return not fields or fields[0] in "TtZX"


def name(pid: int, tid: int) -> str:
    return _read(f"/proc/{pid}/task/{tid}/comm").decode("utf-8", "replace").strip()


def arguments(pid: int) -> list[str]:
    text = _read(f"/proc/{pid}/cmdline", _MAX_COMMAND_LINE_BYTES).decode("utf-8", "replace")
    return text.rstrip("\0").split("\0")


def _read(path: str, max_bytes: int = _MAX_BYTES) -> bytes:
    # Without Python's own layers: this is done a thousand times a second.
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
