"""Looks at the stacks of threads: when they have just gone to sleep, and while they work."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from waitbench.execution.thread_counts import Counts, Key
from waitbench.model.why import KERNEL, PYTHON, Frame
from waitbench.system import stacks, tasks
from waitbench.system.calls import name_of
from waitbench.system.stacks import NotSeen, PythonThread

_LONGEST_LOOK_S = 2.0
"""For so long a thread is watched until it does what is waited for."""
_NAP_S = 0.0005
_STOPS_WITHIN_S = 5.0
_MUCH, _SOME = 0.2, 0.02
"""Shares of all wake-ups, or of all CPU, from which on a thread is looked at more often."""
_LOOKS = (12, 6, 3)
_LEAST_WAKEUPS, _LEAST_CPU = 0.3, 0.01
"""A second, and as a share of a CPU, from which on a thread is looked at asleep, and at work."""
_GOES_ON_SLEEPING = "restart_syscall"
"""The system call of who was stopped while it slept, and goes on with that."""
_AGAIN_S = 0.002
"""After a thread was stopped that was not at work, it goes on for so long at least."""

_UNWINDERS = (stacks.PYTHON_UNWINDER, stacks.NATIVE_UNWINDER)


@dataclass
class Seen:
    """The stacks of one thread, how often each."""

    asleep: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    """When it had just gone to sleep."""
    at_work: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    by_chance: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    """When another thread of its process was looked at."""


@dataclass
class _Goal:
    key: Key
    works: bool
    left: int
    """How often it is to be seen."""
    tries: int
    switches: int = 0
    """How often the thread had gone to sleep when it was seen to do so."""


class Looks:
    """Looks at the stacks of threads."""

    def __init__(self, counts: Counts, over: threading.Event) -> None:
        self.counts = counts
        self.seen: dict[Key, Seen] = {key: Seen() for key in counts.threads}
        self.names: dict[Key, str] = {}
        self.lacking: dict[tuple[int, str], str] = {}
        """Why stacks could not be read, by process and by what should have; empty: needless."""
        self.unseen: dict[int, str] = {}
        """Which functions of a process no reader sees, and why."""
        self.number = 0
        self._over = over
        self._idents: dict[tuple[int, int], int] = {}
        """The kernel's numbers of threads, by process and Python's number."""
        self._compiled: dict[tuple[int, tasks.At | None, object], tuple[Frame, ...]] = {}
        """Whole stacks, by thread, where it was, and its functions of Python."""
        self._beside: dict[tuple[int, tuple[str, ...]], tuple[Frame, ...]] = {}
        """The same, by thread and functions of Python only."""
        self._sleeps_in: dict[Key, set[int]] = {key: set() for key in counts.threads}
        """The system calls in which a thread was asleep."""

    def look(self, seconds: float) -> None:
        """Looks until it has seen enough, for so long at the most."""
        end = time.monotonic() + seconds
        goals = list(self._goals())
        while goals and not self._is_over(end):
            for goal in list(goals):
                if self._is_over(end):
                    break
                until = min(end, time.monotonic() + _LONGEST_LOOK_S)
                goal.left -= self._attempt(goal, until)
                goal.tries -= 1
                if goal.left <= 0 or goal.tries <= 0:
                    goals.remove(goal)
                self._over.wait(0.05 + random.random() * 0.05)
        self._look_at_others()

    def _is_over(self, end: float) -> bool:
        return self._over.is_set() or time.monotonic() > end

    def _goals(self) -> Iterator[_Goal]:
        """Which threads are to be looked at, and how often: who does much first."""
        threads, lasted_s = self.counts.threads, max(self.counts.lasted_s, 1e-9)
        all_wakeups = sum(one.wakeups for one in threads.values()) or 1
        all_cpu_ns = sum(one.cpu_ns for one in threads.values()) or 1
        for key, one in sorted(threads.items(), key=lambda item: -item[1].wakeups):
            if one.wakeups / lasted_s >= _LEAST_WAKEUPS:
                yield _goal(key, works=False, share=one.wakeups / all_wakeups)
        for key, one in sorted(threads.items(), key=lambda item: -item[1].cpu_ns):
            if one.cpu_ns / 1e9 / lasted_s >= _LEAST_CPU:
                yield _goal(key, works=True, share=one.cpu_ns / all_cpu_ns)

    def _attempt(self, goal: _Goal, end: float) -> bool:
        """Looks at a thread once; whether it was seen, or is not worth another attempt."""
        self._over.wait(random.random() * 0.02)
        while self._await(goal, end):
            seen = self._look_at(goal)
            if seen or not goal.works:
                return seen
            # To be stopped for a moment costs next to nothing.
            self._over.wait(_AGAIN_S * (1 + random.random()))
        # A thread that does not do it in time seldom does: what is seen by chance must do.
        return True

    def _await(self, goal: _Goal, end: float) -> bool:
        """Waits until a thread has just gone to sleep, or is on a CPU; whether it is."""
        pid, tid = goal.key
        before = tasks.switches(pid, tid)
        while before is not None and not self._is_over(end):
            time.sleep(_NAP_S * (0.5 + random.random()))
            call = tasks.call(pid, tid)
            if call is not None and call != tasks.RUNNING:
                self._sleeps_in[goal.key].add(call)
            if goal.works:
                if call == tasks.RUNNING:
                    return True
                continue
            now = tasks.switches(pid, tid)
            if now is None:
                return False
            if now != before and call != tasks.RUNNING:
                goal.switches = now
                return True
            before = now
        return False

    def _look_at(self, goal: _Goal) -> bool:
        """Reads the stacks of a thread's process while it is stopped.

        Returns whether the thread still did what it was looked at for.
        """
        pid, tid = goal.key
        if all((pid, one) in self.lacking for one in _UNWINDERS):
            call = tasks.call(pid, tid)
            if not goal.works and call not in (None, tasks.RUNNING):
                self.seen[goal.key].asleep[_calling(call)] += 1
            return True
        # A thread at work may be asleep before others were asked.
        others = () if goal.works else tasks.threads(pid)
        slept = [one for one in others if tasks.call(pid, one) != tasks.RUNNING]
        with _stopped(pid) as stands:
            if not stands:
                return False
            ats = {one: tasks.at(pid, one) for one in tasks.threads(pid)}
            call_now = _calls(ats.get(tid))
            if goal.works:
                does = self._is_at_work(goal.key, call_now)
                if not does:
                    return False
            else:
                # To be stopped is to go to sleep, too.
                stayed = (tasks.switches(pid, tid) or 0) <= goal.switches + 1
                does = stayed and call_now != tasks.RUNNING
            found = self._stacks(pid, tid, ats)
        self.number += bool(found)
        for other, frames in found.items():
            key, call = (pid, other), _calls(ats.get(other))
            if key not in self.seen:
                continue
            if other == tid and goal.works:
                self.seen[key].at_work[frames] += 1
            elif call != tasks.RUNNING and (does if other == tid else other in slept):
                seen = self.seen[key].asleep if other == tid else self.seen[key].by_chance
                seen[frames + _calling(call)] += 1
        if tid not in found and does and call_now is not None and not goal.works:
            self.seen[goal.key].asleep[_calling(call_now)] += 1
        return does

    def _is_at_work(self, key: Key, call: int | None) -> bool:
        """Whether a thread that was stopped is elsewhere than where it sleeps.

        Who has just been woken up is still there, and may be for long, where others use the CPU.
        """
        return call is None or (
            call not in self._sleeps_in[key] and name_of(call) != _GOES_ON_SLEEPING
        )

    def _look_at_others(self) -> None:
        """Looks once at processes that wake up so seldom that nobody waited for that."""
        looked = {pid for (pid, _), seen in self.seen.items() if seen.asleep or seen.by_chance}
        woken = [key for key, one in self.counts.threads.items() if one.wakeups]
        for key in woken:
            if key[0] not in looked and not self._over.is_set():
                looked.add(key[0])
                self._look_at(_Goal(key, works=False, left=1, tries=1))

    def _stacks(
        self, pid: int, tid: int, ats: Mapping[int, tasks.At | None]
    ) -> dict[int, tuple[Frame, ...]]:
        """What can be seen of the threads of a process that is stopped, of this one above all."""
        threads = {self._tid(pid, one): one for one in self._asked(pid, stacks.PYTHON_UNWINDER)}
        for other, one in threads.items():
            name = one.name or self.names.get((pid, other), "")
            self.names[pid, other] = name or ("MainThread" if other == pid else "")
        own = {other: one.frames for other, one in threads.items()}
        compiled: Mapping[int, tuple[Frame, ...]] = {}
        if (tid, ats.get(tid), own.get(tid, ())) not in self._compiled:
            compiled = self._asked_compiled(pid)
        found = {}
        for other in {tid, *threads, *compiled} - {0}:
            functions = own.get(other, ())
            place = other, ats.get(other), functions
            if other in compiled:
                whole = compiled[other]
                if other in threads:
                    whole = stacks.merged(threads[other], whole)
                self._compiled[place] = _plain(whole)
            beside = self._beside.get((other, _names(functions)), functions)
            found[other] = self._compiled.get(place) or beside
        return {other: frames for other, frames in found.items() if frames}

    def _tid(self, pid: int, thread: PythonThread) -> int:
        """The kernel's number of a thread, which old Pythons do not know."""
        tid = thread.tid or self._idents.get((pid, thread.ident), 0)
        # In a PID namespace of its own a process knows other numbers than we do.
        return tid if tid in tasks.threads(pid) else tasks.numbers_inside(pid).get(tid, 0)

    def learn(self, dumps: int) -> None:
        """Learns how threads are numbered, and which compiled functions are between Python's.

        Of a process without Python it learns what nobody will see.
        """
        for pid in dict.fromkeys(goal.key[0] for goal in self._goals()):
            if not stacks.runs_python(pid):
                self.lacking[pid, stacks.PYTHON_UNWINDER] = ""
                reason = stacks.why_unseen(pid)
                if reason:
                    self.unseen[pid] = reason
            for _ in range(dumps):
                if self._over.is_set() or (pid, stacks.PYTHON_UNWINDER) in self.lacking:
                    break
                try:
                    threads = stacks.of_python_with_compiled(pid)
                except NotSeen:
                    break
                for one in threads:
                    if one.tid:
                        tid = self._idents[pid, one.ident] = self._tid(pid, one)
                        whole = _plain(one.frames)
                        self._beside.setdefault((tid, _names(whole)), whole)
                self._over.wait(0.02 + random.random() * 0.1)

    def _asked(self, pid: int, program: str) -> Sequence[PythonThread]:
        if (pid, program) in self.lacking:
            return ()
        try:
            return stacks.of_python(pid)
        except NotSeen as error:
            if tasks.threads(pid):
                self.lacking[pid, program] = str(error) if stacks.runs_python(pid) else ""
            return ()

    def _asked_compiled(self, pid: int) -> Mapping[int, tuple[Frame, ...]]:
        if (pid, stacks.NATIVE_UNWINDER) in self.lacking:
            return {}
        try:
            return stacks.of_compiled(pid)
        except NotSeen as error:
            if tasks.threads(pid):
                self.lacking[pid, stacks.NATIVE_UNWINDER] = str(error)
            return {}


def _plain(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    return tuple(frame for frame in frames if frame != stacks.INTERPRETER)


def _names(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Those of Python's functions."""
    return tuple(frame.name for frame in frames if frame.kind == PYTHON)


def _calls(at: tasks.At | None) -> int | None:
    return None if at is None else at.call


def _goal(key: Key, *, works: bool, share: float) -> _Goal:
    looks = _LOOKS[0] if share >= _MUCH else _LOOKS[1] if share >= _SOME else _LOOKS[2]
    return _Goal(key, works, looks, 3 * looks)


def _calling(call: int | None) -> tuple[Frame, ...]:
    """The system call as the innermost frame, where it is known."""
    return () if call is None or call == tasks.RUNNING else (Frame(name_of(call), KERNEL),)


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
