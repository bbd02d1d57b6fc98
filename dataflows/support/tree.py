"""A process and all that it has started: what they have used together, and how they end.

For an engine that is one worker in several processes. Linux only: what others use is in ``/proc``.

A process that has ended is counted by whoever waited for it, so that nothing is lost as long as
somebody does. An orphan comes to the root of the tree instead of leaving it, and is waited for
there.
"""

import ctypes
import os
import resource
import time
from typing import Dict, List, NamedTuple, Optional

_BE_SUBREAPER = 36
"""The option of ``prctl``; see its manual page."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_ATTEMPTS = 10
_LOOK_EVERY_S = 0.01


class Used(NamedTuple):
    """CPU time in seconds."""

    user_s: float
    system_s: float


class _Process(NamedTuple):
    """What the kernel says of one process; times in ticks."""

    pid: int
    parent: int
    begun: int
    own: int
    own_system: int
    ended: int
    """Of children that have ended, and were waited for."""
    ended_system: int


def adopt_orphans() -> None:
    """From now on this process inherits what its descendants leave behind.

    Raises ``OSError`` where the system cannot do that.
    """
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(_BE_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def used() -> Used:
    """What this process and its descendants have used so far.

    What runs is read from its clock, in nanoseconds. Of children that have ended the kernel tells
    ticks: of each process that has waited for any, up to a tick of either kind is missing.
    """
    found = Used(0.0, 0.0)
    seen = descendants()
    for _ in range(_ATTEMPTS):
        found = _sum(seen)
        now = descendants()
        if _identities(now) == _identities(seen):
            break
        # One that ended meanwhile counts elsewhere: twice, or not at all.
        seen = now
    return found


def wait_for_all(within_s: float) -> None:
    """Waits for all children, adopted ones too, to end. Raises ``TimeoutError``."""
    end = time.monotonic() + within_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > end:
                raise TimeoutError("processes still run: %s" % [one.pid for one in descendants()])
            time.sleep(_LOOK_EVERY_S)


def descendants() -> List[_Process]:
    """All processes that this one has started, and those that they have, and so on."""
    children: Dict[int, List[_Process]] = {}
    for name in os.listdir("/proc"):
        process = _process(int(name)) if name.isdigit() else None
        if process is not None:
            children.setdefault(process.parent, []).append(process)
    found = list(children.get(os.getpid(), []))
    for process in found:  # which grows meanwhile
        found += children.get(process.pid, [])
    return found


def _process(pid: int) -> Optional[_Process]:
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            text = file.read()
    except OSError:
        return None
    # Behind the name, which may hold anything: state, parent, …
    fields = text[text.rindex(b")") + 2 :].split()
    user, system, ended_user, ended_system = (int(fields[at]) for at in range(11, 15))
    return _Process(
        pid=pid,
        parent=int(fields[1]),
        begun=int(fields[19]),
        own=user + system,
        own_system=system,
        ended=ended_user + ended_system,
        ended_system=ended_system,
    )


def _sum(processes: List[_Process]) -> Used:
    total = system = 0.0
    for process in processes:
        total += _clock_s(process) + process.ended * _TICK_S
        system += (process.own_system + process.ended_system) * _TICK_S
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
        system += usage.ru_stime
    return Used(total - system, system)


def _clock_s(process: _Process) -> float:
    """The CPU time of a process without its children: its clock, or else its ticks."""
    try:
        # What clock_getcpuclockid(3) would say, for which Python has no name.
        return time.clock_gettime((~process.pid << 3) | 2)
    except OSError:
        return process.own * _TICK_S


def _identities(processes: List[_Process]) -> set:  # type: ignore[type-arg]
    return {(process.pid, process.begun) for process in processes}
