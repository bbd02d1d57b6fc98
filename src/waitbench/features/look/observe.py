"""Costs of running processes, counted by the kernel from outside for a while (Linux).

Opens two of the kernel's counters on each thread: of the thread with all its future descendants,
and of the thread alone. Both lag behind the scheduler's clock, by the same time, as in
execution/counted_tree.
"""

import os
import random
import resource
import select
import shlex
import time
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from waitbench.features.look import drift
from waitbench.features.look.cgroups import PROCESSES, locate
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Cost
from waitbench.system import files, proc, supervisor
from waitbench.system.counters import CONTEXT_SWITCHES, INHERIT, TASK_CLOCK, TreeCounters, hits_of
from waitbench.system.machine import find_instruments
from waitbench.system.proc import Thread

_MOST_DIGITS = 20
_LONGEST_COMM = 15
"""Characters of a process's name that the kernel keeps."""
_LONG_S, _READINGS = 60.0, 60
"""When, and how often, quantities are read that may drift."""
_Counters = dict[Thread, tuple[TreeCounters, TreeCounters]]
"""Counters of a thread with its descendants, and of the thread alone."""


@dataclass(frozen=True, kw_only=True)
class Observed(Cost):
    """Cost of a thread, of a process with the children it started meanwhile, or of all."""

    id: int = 0
    name: str
    """A process's command line."""
    syscalls_per_s: float | None = None
    """Including children that the thread started; ``None`` where not counted."""
    memory_bytes: int | None = None
    """PSS; ``None`` for threads and ended processes, and where it may not be read."""
    parts: Sequence["Observed"] = ()
    """Processes or threads, the busiest first."""


@dataclass(frozen=True, kw_only=True)
class Total(Observed):
    """Cost of all processes of a target while they were observed."""

    seconds: float
    notes: Sequence[str] = ()
    """Missing counts, and processes that ended."""


def sum_of(parts: Collection[Observed], name: str = "in all") -> Observed:
    calls = [part.syscalls_per_s for part in parts if part.syscalls_per_s is not None]
    memory = [part.memory_bytes for part in parts if part.memory_bytes is not None]
    return Observed(
        name=name,
        wakeups_per_s=sum(part.wakeups_per_s for part in parts),
        cores=sum(part.cores for part in parts),
        syscalls_per_s=sum(calls) if calls else None,
        memory_bytes=sum(memory) if len(memory) == len(parts) else None,
        parts=_busiest_first(parts),
    )


def _busiest_first(costs: Collection[Observed]) -> list[Observed]:
    return sorted(costs, key=lambda cost: -cost.price)


@dataclass(frozen=True)
class Target:
    """Processes that are counted together, until all of their roots have ended."""

    name: str
    """As the user typed it."""
    pids: frozenset[int]
    roots: frozenset[int]


def find(name: str) -> Target:
    """A PID or the processes of a name, with descendants; or a cgroup's. Raises ``UsageError``."""
    if not proc.has_schedstat():
        raise UsageError("This system has no /proc/PID/schedstat, so nothing is known of threads.")
    place = locate(name)
    if files.is_file(Path(place) / PROCESSES):
        pids = roots = _in_cgroup(Path(place))
    else:
        roots = _with_pid(place) if place.isdecimal() else _named(place)
        pids = roots.union(proc.descendants(*roots))
    pids = {pid for pid, _ in proc.identities(pids) if not proc.is_kernel_thread(pid)}
    pids -= {os.getpid(), *supervisor.parents}
    if not pids:
        raise UsageError(f"{name}: nothing runs there but threads of the kernel and waitbench.")
    for pid in pids:
        try:
            os.kill(pid, 0)
        except PermissionError as error:
            raise UsageError(f"Process {pid} is another user's: run this as root.") from error
        except ProcessLookupError:
            pass  # it has ended just now
    return Target(name, frozenset(pids), frozenset(pids & roots))


def _in_cgroup(folder: Path) -> set[int]:
    texts = []
    for path in folder.rglob(PROCESSES):
        with suppress(OSError):  # it is gone, or a threaded cgroup
            texts.append(path.read_text())
    return {int(pid) for text in texts for pid in text.split()}


def _with_pid(name: str) -> set[int]:
    pid = int(name) if len(name) < _MOST_DIGITS else 0
    if not proc.stat(pid):
        raise UsageError(f"There is no process {name} that this user may see.")
    if not proc.identities([pid]):
        raise UsageError(f"Process {pid} has ended; its parent has not reaped it yet.")
    if pid == os.getpid():
        raise UsageError(f"Process {pid} is waitbench itself.")
    return {pid}


def _named(name: str) -> set[int]:
    comm = name[:_LONGEST_COMM]
    pids = {pid for pid in proc.all_processes() if proc.thread_name(pid, pid) == comm}
    if not name or not proc.identities(pids):
        raise UsageError(
            f"{name!r} is neither a PID nor a cgroup's folder with {PROCESSES}, nor the name of a "
            "running process."
        )
    return pids


class Reading(NamedTuple):
    """The counts of processes at a time."""

    time_s: float
    alive: frozenset[int]
    trees: dict[int, set[int]]
    """Of each process, itself and the children that it started meanwhile, if they run."""
    counted: dict[Thread, Counter[str]]
    cpu_s: dict[int, float]
    used: dict[Thread, proc.Used]


class Observation:
    """Processes that are counted from now on, until the stack is closed."""

    def __init__(self, target: Target, stack: ExitStack) -> None:
        self.target = target
        self._counters, self.notes = _count(target.pids, stack)
        self._running = proc.identities(target.pids)
        # Children in another cgroup are not ours.
        self._others = target.pids.union(proc.descendants(*target.pids))
        self._names = {pid: _name(pid) for pid in target.pids}

    @property
    def has_ended(self) -> bool:
        return not self._running & proc.identities(self.target.roots)

    def read(self) -> Reading:
        pids, without = self.target.pids, self._others
        alive = {pid for pid, _ in self._running & proc.identities(pids)}
        begun = {*proc.descendants(*pids, without=without)}
        now_s, cpu_s = time.monotonic(), dict[int, float]()
        counted = {
            key: Counter({**whole.reading(), **alone.reading()})
            for key, (whole, alone) in self._counters.items()
        }
        for pid in alive | begun:
            with suppress(OSError):
                cpu_s[pid] = proc.clock_s(pid)
        used = proc.usage_by_thread(alive | begun)
        trees = {
            pid: (begun and begun.intersection(proc.descendants(pid, without=without)))
            | ({pid} & alive)
            for pid in pids
        }
        return Reading(now_s, frozenset(alive), trees, counted, cpu_s, used)

    def cost(self, before: Reading, after: Reading, *, with_memory: bool = True) -> Total:
        """The cost from one reading to another; memory is that of now."""
        pids, notes = self.target.pids, [*self.notes]
        parts = {
            pid: _cost(pid, self._names[pid], before, after, with_memory=with_memory)
            for pid in pids
        }
        living = [parts[pid] for pid in pids if after.trees[pid]]
        if len(after.alive) < len(pids):
            until = ", counted until then" if self._counters else ""
            ended = len(pids) - len(after.alive)
            notes.append(f"{ended} of {len(pids)} processes ended meanwhile{until}.")
        if with_memory and any(part.memory_bytes is None for part in living):
            notes.append("The memory of some of these may not be read.")
        memory = sum_of(living).memory_bytes if living else None
        total = vars(sum_of(parts.values())) | {"memory_bytes": memory}
        return Total(seconds=after.time_s - before.time_s, notes=notes, **total)


def look(process: object, seconds: float = 30.0) -> Total:
    """The cost of a running process with its descendants, counted for so long from outside.

    Takes a PID, an object with a ``pid``, the name of a program, a cgroup's folder, or a text such
    as ``podman:NAME``. Raises ``ValueError`` where there is none, or it is another user's.
    """
    try:
        return observe(find(str(getattr(process, "pid", process))), seconds)
    except UsageError as error:
        raise ValueError(str(error)) from error


def observe(target: Target, seconds: float) -> Total:
    """Observes processes for a time, or until they have ended; for a minute or more, for rises."""
    number = _READINGS if seconds >= _LONG_S else 1
    rows = list[tuple[float | None, ...]]()
    with ExitStack() as stack:
        observation = Observation(target, stack)
        first = now = observation.read()
        for place in range(1, number + 1):
            # At random moments: regular ones would see a sawtooth as a slow rise.
            share = (place - random.random() * (place < number)) / number
            wait(target.roots, first.time_s + seconds * share - time.monotonic())
            before, now = now, observation.read()
            if observation.has_ended:
                break
            if number > 1:
                rows.append(_drifting(observation.cost(before, now), now))
        look = observation.cost(first, now)
    rises = drift.sentences([*zip(*rows, strict=True)], look.seconds) if rows else []
    return replace(look, notes=[*look.notes, *rises])


def _drifting(cost: Total, now: Reading) -> tuple[float | None, ...]:
    """The values of ``drift.QUANTITIES``."""
    pids = set[int]().union(*now.trees.values())
    try:
        opened = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    except OSError:
        opened = None
    return cost.memory_bytes, len(now.used), opened, cost.cores * 100


def _count(pids: Collection[int], stack: ExitStack) -> tuple[_Counters, list[str]]:
    """Opens counters of all threads; returns them with notes on missing counts."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    # A test suite's later children inherit them.
    stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
    allowed = find_instruments()
    events, notes = {"cpu": TASK_CLOCK, "switches": CONTEXT_SWITCHES}, []
    if allowed.tracepoint is None:
        notes = [f"System calls are not counted: {allowed.reason}."]
    else:
        events["calls"] = hits_of(allowed.tracepoint)
    counters: _Counters = {}
    try:
        for key in proc.usage_by_thread(pids):
            with suppress(ProcessLookupError):
                whole = TreeCounters(events, key[1], INHERIT)
                stack.callback(whole.close)
                alone = TreeCounters({"alone": TASK_CLOCK}, key[1], 0)
                stack.callback(alone.close)
                counters[key] = whole, alone
    except OSError as error:
        why = f"The kernel does not count here: {error.strerror}. System calls and processes"
        return {}, [f"{why} that have ended are not in these figures."]
    return counters, notes


def wait(pids: Collection[int], seconds: float) -> None:
    """Waits for a time, or until all of the processes have ended."""
    end_s = time.monotonic() + seconds
    for pid in pids:
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid), "rb", 0) as ending:
            poll = select.poll()  # select takes no descriptor above 1023
            poll.register(ending, select.POLLIN)
            poll.poll(max(0.0, 1000 * (end_s - time.monotonic())))


def _name(pid: int) -> str:
    words = proc.arguments(pid)
    return shlex.join(words) if any(words) else proc.thread_name(pid, pid)


def _cost(pid: int, name: str, before: Reading, after: Reading, *, with_memory: bool) -> Observed:
    """The cost of a process with its new children."""
    tree = after.trees[pid]
    seconds = after.time_s - before.time_s
    counted = {
        key: counts - before.counted[key] for key, counts in after.counted.items() if key[0] == pid
    }
    has_calls = any("calls" in counts for counts in after.counted.values())
    sums = sum(counted.values(), Counter[str]())
    used = {
        key: now.since(before.used.get(key, proc.Used(0, 0)))
        for key, now in after.used.items()
        if key[0] in tree
    }
    wakeups = sum(thread.wakeups for thread in used.values())
    if before.counted:
        wakeups = max(0, sums["switches"] - sum(thread.preempted for thread in used.values()))
    # A process's counters include its children, even those that another adopted meanwhile.
    clocks = {pid} & tree if before.counted else tree
    cpu_s = sum(after.cpu_s.get(member, 0.0) - before.cpu_s.get(member, 0.0) for member in clocks)
    lag_ns = sum(
        max(0, used[key].cpu_ns - counts["alone"]) for key, counts in counted.items() if key in used
    )
    memory = proc.memory(tree) if with_memory else None
    return Observed(
        id=pid,
        name=name,
        cores=max(cpu_s, (sums["cpu"] + lag_ns) / 1e9) / seconds,
        wakeups_per_s=wakeups / seconds,
        syscalls_per_s=sums["calls"] / seconds if has_calls else None,
        memory_bytes=None if memory is None else memory.proportional,
        parts=_busiest_first(
            [
                Observed(
                    id=key[1],
                    name="main thread" if key == (pid, pid) else proc.thread_name(*key),
                    cores=thread.cpu_ns / 1e9 / seconds,
                    wakeups_per_s=thread.wakeups / seconds,
                    syscalls_per_s=counted[key]["calls"] / seconds
                    if has_calls and key in counted
                    else None,
                )
                for key, thread in used.items()
                if key[0] == pid
            ]
        ),
    )
