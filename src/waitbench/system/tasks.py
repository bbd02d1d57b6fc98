"""Threads of a process as ``/proc`` shows them: what they have used, and what they do now (Linux).

Reading these files wakes nobody up. What has ended meanwhile is ``None``.
"""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 2**21
"""Bytes: no command line is longer."""
RUNNING = -1
"""The number that stands for no system call: the thread is on a CPU, or wants to be."""


@dataclass(frozen=True)
class Used:
    """What a thread has used so far."""

    wakeups: int
    """How often it has gone to sleep by itself, which each wake-up ends in."""
    cpu_ns: int
    delayed_ns: int = 0
    """For how long it had to wait for a CPU."""
    preempted: int = 0
    """How often it had to leave its CPU to others."""

    def since(self, before: "Used") -> "Used":
        """What it has used after that."""
        return Used(
            self.wakeups - before.wakeups,
            self.cpu_ns - before.cpu_ns,
            self.delayed_ns - before.delayed_ns,
            self.preempted - before.preempted,
        )


def is_possible() -> bool:
    """Whether the system tells these."""
    return Path("/proc/self/schedstat").exists()


def threads(pid: int) -> list[int]:
    """The threads of a process; none, if it has ended."""
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return []


def used(pid: int, tid: int) -> Used | None:
    """What a thread has used so far; without CPU where the system does not tell.

    A zombie was preempted never: the kernel's counter has left a thread before it is done ending.
    """
    status = _read(f"/proc/{pid}/task/{tid}/status")
    wakeups, preempted = (_count(status, f"{prefix}voluntary") for prefix in ("", "non"))
    if wakeups is None:
        return None
    schedstat = _read(f"/proc/{pid}/task/{tid}/schedstat") or b"0 0 0"
    cpu_ns, delayed_ns, *_ = map(int, schedstat.split())
    return Used(wakeups, cpu_ns, delayed_ns, 0 if b"\nState:\tZ" in status else preempted or 0)


def ignores_children(pid: int) -> bool:
    """Whether a process ignores that children end: then nobody is told what these have used."""
    _, _, mask = _read(f"/proc/{pid}/status").partition(b"\nSigIgn:\t")
    return bool(int(mask[:16] or b"0", 16) >> (signal.SIGCHLD - 1) & 1)


def switches(pid: int, tid: int) -> int | None:
    """How often a thread has gone to sleep by itself."""
    return _count(_read(f"/proc/{pid}/task/{tid}/status"), "voluntary")


def _count(status: bytes, kind: str) -> int | None:
    name = f"\n{kind}_ctxt_switches:".encode()
    at = status.find(name)
    return int(status[at + len(name) :].split(None, 1)[0]) if at >= 0 else None


def call(pid: int, tid: int) -> int | None:
    """The number of the system call in which a thread is asleep, or ``RUNNING``.

    ``None`` also where this user may not know.
    """
    words = _read(f"/proc/{pid}/task/{tid}/syscall").split()
    return None if not words else RUNNING if words[0] == b"running" else int(words[0])


def is_stopped(pid: int, tid: int) -> bool:
    """Whether a signal has stopped a thread, or it has ended."""
    stat = _read(f"/proc/{pid}/task/{tid}/stat")
    # The name before it may hold anything, brackets too.
    return not stat or stat[stat.rfind(b")") + 2 :][:1] in b"TtZX"


def name(pid: int, tid: int) -> str:
    """The name that the kernel has of a thread."""
    return _read(f"/proc/{pid}/task/{tid}/comm").decode("utf-8", "replace").strip()


def arguments(pid: int) -> list[str]:
    """The command line of a process."""
    text = _read(f"/proc/{pid}/cmdline", _LONGEST).decode("utf-8", "replace")
    return text.rstrip("\0").split("\0")


def _read(path: str, most: int = 4096) -> bytes:
    # Without Python's own layers: this is done a thousand times a second.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, most)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
