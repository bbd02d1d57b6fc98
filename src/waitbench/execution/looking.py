"""What threads do while nobody looks, counted; and where they are, looked at in turns with that."""

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

from waitbench.model.why import KERNEL, Frame
from waitbench.system import stacks, tasks
from waitbench.system.calls import name_of
from waitbench.system.stacks import NotSeen

PARTS = 4
"""Threads are counted so often; how these differ tells how much a thread varies."""
_SLICE_S = 0.25
"""A process that lives for less may not be seen at all."""
_LONGEST_WATCH_S = 2.0
"""For so long a thread is watched until it does what is waited for."""
_NAP_S = 0.0005
_STOPS_WITHIN_S = 5.0
_LOOKS, _TRIES = 3, 3
"""At each thread after each part; and how often it is tried for each."""
_LEAST_CPU = 0.01
"""The share of a CPU from which on a thread is looked at while it works."""
_GOES_ON_SLEEPING = "restart_syscall"
"""The system call of who was stopped while it slept, and goes on with that."""
Key = tuple[int, int]
"""The process and the thread."""


@dataclass
class Watched:
    """What a thread did while it was counted, and where it was when its stack was read."""

    process: str
    name: str
    """Empty where neither its program nor the kernel has one."""
    wakeups: list[int] = field(default_factory=lambda: [0] * PARTS)
    """In each part of the time."""
    cpu_ns: list[int] = field(default_factory=lambda: [0] * PARTS)
    delayed_ns: int = 0
    asleep: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    """Its stacks when it slept."""
    at_work: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    sleeps_in: set[int] = field(default_factory=set)
    """The system calls in which it was asleep."""


@contextmanager
def stopped(pid: int) -> Iterator[bool]:
    """A process stands still in the block; whether all of its threads do, which takes its time."""
    try:
        with suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
        end = time.monotonic() + _STOPS_WITHIN_S
        while not (stands := all(tasks.is_stopped(pid, one) for one in tasks.threads(pid))):
            if time.monotonic() > end:
                break
            time.sleep(_NAP_S)
        yield stands
    finally:
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


class Looks:
    """The threads of some processes: what each does, and where."""

    def __init__(
        self,
        find: Callable[[], Sequence[int]],
        role: Callable[[Sequence[str]], str | None],
        over: threading.Event,
        still: Callable[[int], AbstractContextManager[bool]] = stopped,
    ) -> None:
        """``over`` is set when the run is; ``still`` has a process stand still, where that may be.

        The role of a process is by its arguments.
        """
        self.threads: dict[Key, Watched] = {}
        self.parts_s: list[float] = []
        """How long each part took that was counted."""
        self.unread: dict[int, str] = {}
        """Why the stacks of a process could not be read when it was last tried."""
        self.over = over
        self._find, self._role_by, self._still = find, role, still
        self._roles: dict[int, str] = {}

    def count(self, seconds: float) -> None:
        """Counts one more part, for so long, or until the run is over."""
        part, begun, lasted_s = len(self.parts_s), time.monotonic(), 0.0
        before = self._used()
        while lasted_s < seconds and not self.over.wait(min(_SLICE_S, seconds - lasted_s)):
            now = self._used()
            if not now:
                break
            lasted_s = time.monotonic() - begun
            for key, used in now.items():
                # Of a process that began meanwhile all counts; so does all of a new thread.
                rise = used.since(before.get(key, tasks.Used(0, 0)))
                thread = self.threads.get(key) or self._named(key)
                self.threads[key] = thread
                thread.wakeups[part] += rise.wakeups
                thread.cpu_ns[part] += rise.cpu_ns
                thread.delayed_ns += rise.delayed_ns
            before = now
        if lasted_s:
            self.parts_s.append(lasted_s)

    def _used(self) -> dict[Key, tasks.Used]:
        found = {}
        for pid in self._find():
            for tid in tasks.threads(pid):
                used = tasks.used(pid, tid)
                if used is not None:
                    found[pid, tid] = used
        return found

    def _named(self, key: Key) -> Watched:
        pid, tid = key
        name = tasks.name(pid, tid)
        # A thread without a name of its own has that of its process.
        if name == tasks.name(pid, pid):
            name = "main thread" if tid == pid else ""
        return Watched(self._role(pid), name)

    def _role(self, pid: int) -> str:
        """Such as ``worker``, ``worker 1`` or ``child celery``."""
        if pid not in self._roles:
            child = f"child {without_numbers(tasks.name(pid, pid))}".rstrip()
            is_first = "worker" not in self._roles.values()
            role = self._role_by(tasks.arguments(pid)) or ("worker" if is_first else child)
            taken = sum(one.partition(" #")[0] == role for one in self._roles.values())
            self._roles[pid] = f"{role} #{taken + 1}" if taken else role
        return self._roles[pid]

    def look(self, seconds: float) -> None:
        """Looks at each thread some times after one part was counted, for so long at the most."""
        end = time.monotonic() + seconds
        least_ns = _LEAST_CPU * 1e9 * sum(self.parts_s)
        sleeping = {key: sum(one.wakeups) for key, one in self.threads.items()}
        working = {key: sum(one.cpu_ns) for key, one in self.threads.items()}
        # Who does much first, as time may not suffice for all.
        goals = [(key, False) for key in _most_first(sleeping, 1)]
        goals += [(key, True) for key in _most_first(working, least_ns)]
        for key, works in goals * _LOOKS:
            for _ in range(_TRIES):
                if self.over.is_set() or time.monotonic() > end:
                    return
                seen = self._attempt(key, works, min(end, time.monotonic() + _LONGEST_WATCH_S))
                # What is due after a stop comes in a burst.
                self.over.wait(0.05 + random.random() * 0.05)
                if seen:
                    break

    def _attempt(self, key: Key, works: bool, end: float) -> bool:
        """Looks at a thread once; whether it was seen, or is not worth another attempt."""
        self.over.wait(random.random() * 0.02)
        before = tasks.switches(*key)
        for call in self._calls(key, end):
            if works:
                if call == tasks.RUNNING and self._look_at(key):
                    break
                continue
            # It has just gone to sleep if it did so since the call before.
            now = tasks.switches(*key)
            if now is None:
                return True
            if now != before and call != tasks.RUNNING:
                return self._look_at(key, now)
            before = now
        # A thread that does not work in time seldom does; and who has not gone to sleep in time is
        # seen where it sleeps: there is hardly another place.
        return works or before is None or self._look_at(key, before)

    def _calls(self, key: Key, end: float) -> Iterator[int | None]:
        """The system call that a thread is in, at moments that chance chooses."""
        while not self.over.is_set() and time.monotonic() < end:
            time.sleep(_NAP_S * (0.5 + random.random()))
            call = tasks.call(*key)
            if call not in (None, tasks.RUNNING):
                self.threads[key].sleeps_in.add(call)
            yield call

    def _look_at(self, key: Key, asleep_since: int | None = None) -> bool:
        """Reads a thread's stack while its process is stopped.

        It is to be seen at work, or in the sleep that is its ``asleep_since``-th. Returns whether
        it still did what it was looked at for.
        """
        pid, tid = key
        thread, works = self.threads[key], asleep_since is None
        with self._still(pid) as stands:
            call = tasks.call(pid, tid)
            # Who has just been woken up is still where it sleeps, and may be for long, where
            # others use the CPU.
            sleeps = call is not None and (
                call in thread.sleeps_in or name_of(call) == _GOES_ON_SLEEPING
            )
            if not stands or (sleeps if works else call == tasks.RUNNING):
                return False
            # To be stopped is to go to sleep, too.
            if asleep_since is not None and (tasks.switches(*key) or 0) > asleep_since + 1:
                return False
            frames = self._stack(pid, tid)
        if not works and call is not None:
            frames = (*frames, Frame(name_of(call), KERNEL))
        if frames:
            (thread.at_work if works else thread.asleep)[frames] += 1
        return True

    def _stack(self, pid: int, tid: int) -> tuple[Frame, ...]:
        """What can be seen of a thread of a process that is stopped, the outermost first."""
        try:
            found = stacks.read(pid)
        except NotSeen as error:
            if tasks.threads(pid):
                self.unread[pid] = str(error)
            return ()
        # Who has just forked, or runs another program now, may be read the next time.
        self.unread.pop(pid, None)
        return found.get(tid, ())


def without_numbers(name: str) -> str:
    """The name of a program or a thread without the numbers that tell it from its like."""
    return re.sub(r"[-_.:#@]?v?\d+", "", name) or name


def _most_first(amounts: Mapping[Key, int], least: float) -> list[Key]:
    return sorted((k for k in amounts if amounts[k] >= least), key=lambda key: -amounts[key])
