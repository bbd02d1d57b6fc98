"""Looks at the stacks of threads: when they have just gone to sleep, and while they work."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from waitbench.engines.base import Engine
from waitbench.execution.thread_counts import Key, Thread, ThreadCounts
from waitbench.model.why import KERNEL, Frame
from waitbench.system import stacks, tasks
from waitbench.system.calls import name_of
from waitbench.system.stacks import NotSeen, PythonThread

_LONGEST_WATCH_S = 2.0
"""For so long a thread is watched until it does what is waited for."""
_NAP_S = 0.0005
_STOPS_WITHIN_S = 5.0
_MUCH, _SOME = 0.2, 0.02
"""Shares of all wake-ups, or of all CPU, from which on a thread is looked at more often."""
_LOOKS, _TRIES = (3, 2, 1), 3
"""After each part; and how often it is tried for each."""
_LEAST_CPU = 0.01
"""The share of a CPU from which on a thread is looked at while it works."""
_GOES_ON_SLEEPING = "restart_syscall"
"""The system call of who was stopped while it slept, and goes on with that."""

_Read = TypeVar("_Read", Sequence[PythonThread], Mapping[int, tuple[Frame, ...]])


@dataclass
class _Goal:
    key: Key
    thread: Thread
    works: bool
    left: float
    """How often it is to be seen; to miss it counts a third, so that it is not tried for ever."""


class Looks(ThreadCounts):
    """Reads the stacks of the threads that were counted, and notes them there."""

    def __init__(self, engine: Engine, root: int, over: threading.Event) -> None:
        super().__init__(engine, root, over)
        self.number = 0
        """How many stacks were read."""
        self.reasons: dict[str, set[str]] = {}
        """Why stacks are not whole: of which processes."""
        self._known: set[int] = set()
        """Processes that were looked at before."""
        self._unread: set[tuple[int, object]] = set()
        """Processes, and by what they cannot be read."""
        self._idents: dict[tuple[int, int], int] = {}
        """The kernel's numbers of threads, by process and Python's number."""
        self._whole: dict[tuple[int, tasks.At | None, object], tuple[Frame, ...]] = {}
        """Whole stacks, by thread, where it was, and its functions of Python."""

    def look(self, seconds: float) -> None:
        """Looks until it has seen enough after one part was counted, for so long at the most."""
        end = time.monotonic() + seconds
        goals = self._goals()
        for pid in dict.fromkeys(goal.key[0] for goal in goals):
            self._learn(pid)
        while goals and not self._is_over(end):
            for goal in goals:
                if self._is_over(end):
                    break
                seen = self._attempt(goal, min(end, time.monotonic() + _LONGEST_WATCH_S))
                goal.left -= 1 if seen else 1 / _TRIES
                # What is due after a stop comes in a burst.
                self.over.wait(0.05 + random.random() * 0.05)
            goals = [goal for goal in goals if goal.left > 0]

    def _is_over(self, end: float) -> bool:
        return self.over.is_set() or time.monotonic() > end

    def _goals(self) -> list[_Goal]:
        """Which threads are to be looked at, and how often: who does much first."""
        goals: list[_Goal] = []
        for works in (False, True):
            amounts = {
                key: sum(one.cpu_ns if works else one.wakeups) for key, one in self.threads.items()
            }
            whole = sum(amounts.values())
            least = _LEAST_CPU * 1e9 * self.lasted_s if works else 1
            for key in sorted(amounts, key=lambda key: -amounts[key]):
                if amounts[key] >= least:
                    share = amounts[key] / whole
                    looks = _LOOKS[(share < _MUCH) + (share < _SOME)]
                    goals.append(_Goal(key, self.threads[key], works, looks))
        return goals

    def _learn(self, pid: int) -> None:
        """Learns how Python's threads are numbered; of other processes, what nobody will see."""
        if pid not in self._known and not stacks.runs_python(pid):
            self._unread.add((pid, stacks.of_python))
            if reason := stacks.why_unseen(pid):
                self._note(pid, f"not all of its functions can be seen: {reason}")
        self._known.add(pid)
        if not all(one.tid for one in self._read(stacks.of_python, pid, ())):
            # Before 3.11 Python does not know them.
            with suppress(NotSeen):
                for one in stacks.of_python_with_compiled(pid):
                    self._idents[pid, one.ident] = one.tid or 0

    def _attempt(self, goal: _Goal, end: float) -> bool:
        """Looks at a thread once; whether it was seen, or is not worth another attempt."""
        self.over.wait(random.random() * 0.02)
        if not goal.works:
            return self._look_at(goal, self._await_sleep(goal, end))
        for call in self._calls(goal, end):
            if call == tasks.RUNNING and self._look_at(goal, None):
                break
        # A thread that does not work in time seldom does.
        return True

    def _calls(self, goal: _Goal, end: float) -> Iterator[int | None]:
        """The system call that a thread is in, at moments that chance chooses."""
        while not self._is_over(end):
            time.sleep(_NAP_S * (0.5 + random.random()))
            call = tasks.call(*goal.key)
            if call not in (None, tasks.RUNNING):
                goal.thread.sleeps_in.add(call)
            yield call

    def _await_sleep(self, goal: _Goal, end: float) -> int | None:
        """Waits until a thread has just gone to sleep; how often it has by then.

        Who has not done so in time is seen where it sleeps: there is hardly another place.
        """
        before = tasks.switches(*goal.key)
        for call in self._calls(goal, end):
            now = tasks.switches(*goal.key)
            if now is None or (now != before and call != tasks.RUNNING):
                return now
            before = now
        return before

    def _look_at(self, goal: _Goal, switches: int | None) -> bool:
        """Reads a thread's stack while its process is stopped.

        Returns whether the thread still did what it was looked at for.
        """
        pid, tid = goal.key
        with _stopped(pid) as stands:
            place = tasks.at(pid, tid)
            call = None if place is None else place.call
            # Who has just been woken up is still where it sleeps, and may be for long, where
            # others use the CPU.
            sleeps = call is not None and (
                call in goal.thread.sleeps_in or name_of(call) == _GOES_ON_SLEEPING
            )
            # To be stopped is to go to sleep, too.
            stayed = switches is not None and (tasks.switches(pid, tid) or 0) <= switches + 1
            if not stands or (sleeps if goal.works else not stayed or call == tasks.RUNNING):
                return False
            frames = self._stack(pid, tid, place)
        self.number += bool(frames)
        if not goal.works and call is not None:
            frames = (*frames, Frame(name_of(call), KERNEL))
        if frames:
            (goal.thread.at_work if goal.works else goal.thread.asleep)[frames] += 1
        return True

    def _stack(self, pid: int, tid: int, place: tasks.At | None) -> tuple[Frame, ...]:
        """What can be seen of a thread of a process that is stopped, the outermost first."""
        mine = None
        for one in self._read(stacks.of_python, pid, ()):
            other = self._tid(pid, one)
            name = one.name or ("MainThread" if other == pid else "")
            if name and (pid, other) in self.threads:
                self.threads[pid, other].name = name
            mine = one if other == tid else mine
        functions = mine.frames if mine else ()
        key = tid, place, functions
        if key not in self._whole:
            whole = self._read(stacks.of_compiled, pid, {}).get(tid, ())
            if mine:
                whole = stacks.merged(mine, whole)
            self._whole[key] = tuple(frame for frame in whole if frame != stacks.INTERPRETER)
        return self._whole[key]

    def _tid(self, pid: int, thread: PythonThread) -> int:
        """The kernel's number of a thread, which old Pythons do not know."""
        tid = thread.tid or self._idents.get((pid, thread.ident), 0)
        # In a PID namespace of its own a process knows other numbers than we do.
        return tid if tid in tasks.threads(pid) else tasks.numbers_inside(pid).get(tid, 0)

    def _read(self, read: Callable[[int], _Read], pid: int, nothing: _Read) -> _Read:
        """What a reader of stacks sees; nothing, with the reason noted, where it cannot."""
        if (pid, read) in self._unread:
            return nothing
        try:
            return read(pid)
        except NotSeen as error:
            if tasks.threads(pid):
                self._unread.add((pid, read))
                self._note(pid, str(error))
            return nothing

    def _note(self, pid: int, reason: str) -> None:
        roles = (one.process for (other, _), one in self.threads.items() if other == pid)
        self.reasons.setdefault(reason, set()).add(next(roles, "a process"))


@contextmanager
def _stopped(pid: int) -> Iterator[bool]:
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
