"""Counts the wake-ups and CPU of threads, and samples their stacks.

Counting and sampling alternate, so that a run that ends early has both. Counts come from ``/proc``,
which wakes no thread. A stack is sampled when its thread has just gone to sleep: the process is
stopped, and the stack is read. So a short sleep is as likely to be sampled as a long one, and
samples represent wake-ups rather than time. Threads at work are sampled at random moments. Nothing
is counted while processes are stopped.
"""

import os
import random
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

from system_calls import NoSuchSystemCall, syscalls  # type: ignore[import-untyped]

from waitbench.features.why import stacks
from waitbench.features.why.samples import KERNEL, Frame, Samples, Stack, Thread
from waitbench.features.why.stacks import UnreadableStacks
from waitbench.system import proc

SAMPLED_S = 40.0
"""The longest time of sampling, all parts together."""
_PARTS = 4
"""The number of parts in which threads are counted, to see how much a thread varies."""
_SLICE_S = 0.25
"""The time between counts. A process that lives for less may be missed."""
_LONGEST_WAIT_S = 2.0
"""The longest wait for a thread to go to sleep, or to work."""
_NAP_S = 0.0005
_STOPS_WITHIN_S = 5.0
_SAMPLES, _TRIES = 3, 3
"""Samples of each thread after each part, and tries for each sample."""
_LEAST_CPU = 0.01
"""Threads with less CPU, in cores, are not sampled at work."""
_SYSTEM_CALLS = syscalls()
_RESTARTED_SLEEP = "restart_syscall"
"""The system call in which a sleep continues after a stop."""


@dataclass
class _Thread:
    """A thread's counts and stacks so far."""

    process: str
    name: str
    """Empty if the thread has no name apart from that of its process."""
    wakeups: list[int] = field(default_factory=lambda: [0] * _PARTS)
    cpu_ns: list[int] = field(default_factory=lambda: [0] * _PARTS)
    delayed_ns: int = 0
    asleep: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    at_work: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    sleeps_in: set[int] = field(default_factory=set)
    """The numbers of the system calls in which the thread was seen."""

    @property
    def shown_name(self) -> str:
        if self.name:
            return _without_numbers(self.name)
        functions = (frames[0] for frames in (*self.asleep, *self.at_work))
        names = (f"{first.name}()" for first in functions if first.kind != KERNEL)
        return next(names, "unnamed thread")


@contextmanager
def stopped(pid: int) -> Iterator[bool]:
    """Stops a process for the block; yields whether all of its threads have stopped."""
    try:
        with suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
        end = time.monotonic() + _STOPS_WITHIN_S
        while not (is_stopped := all(proc.is_stopped(pid, tid) for tid in proc.thread_ids(pid))):
            if time.monotonic() > end:
                break
            time.sleep(_NAP_S)
        yield is_stopped
    finally:
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


class StackSampler:
    """Samples the threads of some processes."""

    def __init__(
        self,
        find: Callable[[], Sequence[int]],
        role: Callable[[Sequence[str]], str | None],
        ended: threading.Event,
        *,
        stops: bool = True,
    ) -> None:
        """``find`` lists the PIDs, ``role`` names a process by its arguments.

        ``ended`` is set at the end of the run. ``stops`` stops a process before its stack is read.
        """
        self.threads: dict[proc.Thread, _Thread] = {}
        self.parts_s: list[float] = []
        self.unread: dict[int, str] = {}
        """The reasons why stacks could not be read at the last attempt, by process."""
        self._find, self._role_by, self._ended, self._stops = find, role, ended, stops
        self._roles: dict[int, str] = {}

    def alternate(
        self, counted_s: float, settles_s: float = 0.0, sampled_s: float = SAMPLED_S
    ) -> None:
        """Counts and samples alternately. Each part begins with a time to settle."""
        for _ in range(_PARTS):
            if self._ended.wait(settles_s):
                return
            self.count(counted_s / _PARTS)
            self.sample(sampled_s / _PARTS)

    def samples(self, label: str) -> Samples:
        """Summarises counts and stacks. Threads of one name in one process are pooled."""
        alike: defaultdict[tuple[str, str], list[_Thread]] = defaultdict(list)
        for thread in self.threads.values():
            if any(thread.wakeups) or any(thread.cpu_ns):
                alike[thread.process, thread.shown_name].append(thread)
        processes: defaultdict[str, list[str]] = defaultdict(list)
        for pid, reason in self.unread.items():
            processes[reason].append(self._roles[pid])
        return Samples(
            label=label,
            counted_s=sum(self.parts_s),
            threads=tuple(self._pooled(*key, threads) for key, threads in alike.items()),
            remarks=tuple(f"{', '.join(names)}: {why}." for why, names in processes.items()),
        )

    def _pooled(self, process: str, name: str, threads: Sequence[_Thread]) -> Thread:
        def by_part(amounts: Iterator[Sequence[int]], unit: float) -> tuple[float, ...]:
            sums = map(sum, zip(*amounts, strict=True))
            parts = zip(sums, self.parts_s, strict=False)
            return tuple(amount / unit / part_s for amount, part_s in parts)

        delayed_s = max(thread.delayed_ns for thread in threads) / 1e9
        asleep = sum((thread.asleep for thread in threads), Counter[tuple[Frame, ...]]())
        at_work = sum((thread.at_work for thread in threads), Counter[tuple[Frame, ...]]())
        return Thread(
            process=process,
            name=name,
            wakeups_per_s=by_part((thread.wakeups for thread in threads), 1),
            cpu_share=by_part((thread.cpu_ns for thread in threads), 1e9),
            delayed=min(delayed_s / sum(self.parts_s), 1.0),
            asleep=tuple(Stack(*stack) for stack in asleep.most_common()),
            at_work=tuple(Stack(*stack) for stack in at_work.most_common()),
        )

    def count(self, seconds: float) -> None:
        """Counts one more part, for ``seconds`` or until the run ends."""
        part, begun, lasted_s = len(self.parts_s), time.monotonic(), 0.0
        before = proc.usage_by_thread(self._find())
        while lasted_s < seconds and not self._ended.wait(min(_SLICE_S, seconds - lasted_s)):
            now = proc.usage_by_thread(self._find())
            if not now:
                break
            lasted_s = time.monotonic() - begun
            for key, used in now.items():
                # A new thread started within this slice, so all of its figures count.
                rise = used.since(before.get(key, proc.Used(0, 0)))
                thread = self.threads.get(key) or self._named(key)
                self.threads[key] = thread
                thread.wakeups[part] += rise.wakeups
                thread.cpu_ns[part] += rise.cpu_ns
                thread.delayed_ns += rise.delayed_ns
            before = now
        if lasted_s:
            self.parts_s.append(lasted_s)

    def _named(self, key: proc.Thread) -> _Thread:
        pid, tid = key
        name = proc.thread_name(pid, tid)
        # A thread without a name of its own has that of its process.
        if name == proc.thread_name(pid, pid):
            name = "main thread" if tid == pid else ""
        return _Thread(self._role(pid), name)

    def _role(self, pid: int) -> str:
        """Names a process, such as ``worker``, ``worker 1`` or ``child celery``."""
        if pid not in self._roles:
            child = f"child {_without_numbers(proc.thread_name(pid, pid))}".rstrip()
            is_first = "worker" not in self._roles.values()
            role = self._role_by(proc.arguments(pid)) or ("worker" if is_first else child)
            taken = sum(name.partition(" #")[0] == role for name in self._roles.values())
            self._roles[pid] = f"{role} #{taken + 1}" if taken else role
        return self._roles[pid]

    def sample(self, seconds: float) -> None:
        """Samples each thread some times, the busiest first, for at most ``seconds``."""
        end = time.monotonic() + seconds
        least_ns = _LEAST_CPU * 1e9 * sum(self.parts_s)
        sleeping = Counter({key: sum(thread.wakeups) for key, thread in self.threads.items()})
        working = Counter({key: sum(thread.cpu_ns) for key, thread in self.threads.items()})
        goals = [(key, False) for key in _most_first(sleeping, 1)]
        goals += [(key, True) for key in _most_first(working, least_ns)]
        for key, is_at_work in goals * _SAMPLES:
            for _ in range(_TRIES):
                if self._ended.is_set() or time.monotonic() > end:
                    return
                is_done = self._attempt(key, is_at_work, end)
                # After a stop, delayed work comes in a burst.
                self._ended.wait(0.05 + random.random() * 0.05)
                if is_done:
                    break

    def _attempt(self, key: proc.Thread, is_at_work: bool, end: float) -> bool:
        """Tries to take one sample. Returns ``False`` if another try may succeed."""
        self._ended.wait(random.random() * 0.02)
        end = min(end, time.monotonic() + _LONGEST_WAIT_S)
        before = proc.sleeps(*key)
        for call in self._calls(key, end):
            if is_at_work:
                if call == proc.RUNNING and self._read_stack(key):
                    break
                continue
            # The count of sleeps has risen, so the thread has just gone to sleep.
            now = proc.sleeps(*key)
            if now is None:
                return True
            if now != before and call != proc.RUNNING:
                return self._read_stack(key, now)
            before = now
        # A thread that was not seen at work seldom works. A thread that did not go to sleep again
        # is sampled in its present sleep.
        return is_at_work or before is None or self._read_stack(key, before)

    def _calls(self, key: proc.Thread, end: float) -> Iterator[int | None]:
        """Yields the system call that a thread is in, at random moments."""
        while not self._ended.is_set() and time.monotonic() < end:
            time.sleep(_NAP_S * (0.5 + random.random()))
            call = proc.system_call(*key)
            if call not in (None, proc.RUNNING):
                self.threads[key].sleeps_in.add(call)
            yield call

    def _read_stack(self, key: proc.Thread, sleep_count: int | None = None) -> bool:
        """Samples a thread at work, or in its sleep of that number; ``False`` if it left that."""
        pid, tid = key
        thread, is_at_work = self.threads[key], sleep_count is None
        with stopped(pid) if self._stops else nullcontext(True) as is_stopped:
            call = proc.system_call(pid, tid)
            # While CPUs are busy, a thread that was just woken up is still in its system call.
            is_asleep = call is not None and (
                call in thread.sleeps_in or _call_name(call) == _RESTARTED_SLEEP
            )
            if not is_stopped or (is_asleep if is_at_work else call == proc.RUNNING):
                return False
            # The stop counts as one sleep.
            if sleep_count is not None and (proc.sleeps(*key) or 0) > sleep_count + 1:
                return False
            frames = self._stack(pid, tid)
        if not is_at_work and call is not None:
            frames = (*frames, Frame(_call_name(call), KERNEL))
        if frames:
            (thread.at_work if is_at_work else thread.asleep)[frames] += 1
        return True

    def _stack(self, pid: int, tid: int) -> tuple[Frame, ...]:
        try:
            stacks_by_thread = stacks.read(pid)
        except UnreadableStacks as error:
            if proc.thread_ids(pid):
                self.unread[pid] = str(error)
            return ()
        # A process that has just forked or exec'ed may be readable the next time.
        self.unread.pop(pid, None)
        return stacks_by_thread.get(tid, ())


def sample_running(find: Callable[[], Sequence[int]], seconds: float) -> Samples:
    """Counts running processes for ``seconds``, and samples them for as long.

    No signal stops them, because their parents would notice. To read a stack, pystack traces a
    process, which continues at once if waitbench dies.
    """
    sampler = StackSampler(find, lambda _: None, threading.Event(), stops=False)
    # Each part takes long enough to wait for one thread that seldom wakes up.
    sampler.alternate(seconds, sampled_s=max(_PARTS * _LONGEST_WAIT_S, min(seconds, SAMPLED_S)))
    return sampler.samples("now")


def _call_name(call: int) -> str:
    try:
        return str(_SYSTEM_CALLS.get_name(call))
    except NoSuchSystemCall:
        return f"call {call}"


def _without_numbers(name: str) -> str:
    """Removes numbers from the name of a program or thread, so that a pool has one name."""
    return re.sub(r"[-_.:#@]?v?\d+", "", name) or name


def _most_first(amounts: Counter[proc.Thread], least: float) -> list[proc.Thread]:
    return [key for key, amount in amounts.most_common() if amount >= least]
