"""Costs of running processes, counted by the kernel for a while.

Each thread has two counters: of the thread with its future children, and of the thread alone.
Counters lag behind ``/proc``. The lag of the second, which ``/proc`` shows, is added to the first,
as in ``execution/counted_tree.py``.
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
from waitbench.system import counters, files, proc, supervisor
from waitbench.system.machine import find_instruments
from waitbench.system.proc import Thread

_LONGEST_COMM = 15
"""The characters of a process's name that the kernel keeps."""
_LONG_S, _READINGS = 60.0, 60
"""Observations of ``_LONG_S`` or longer take ``_READINGS`` readings, to find slow rises."""
_Counters = dict[Thread, tuple[counters.TreeCounters, counters.TreeCounters]]
"""The counters of each thread: with its future children, and alone."""


@dataclass(frozen=True, kw_only=True)
class Observed(Cost):
    """The cost of a thread, of a process with its new children, or of all processes."""

    id: int = 0
    """A PID, or the number of a thread; 0 for a sum."""
    name: str
    """The command line of a process, or the name of a thread."""
    syscalls_per_s: float | None = None
    """Including those of new children; ``None`` if system calls are not counted."""
    memory_bytes: int | None = None
    """PSS; ``None`` for threads, for ended processes, and without permission to read it."""
    parts: Sequence["Observed"] = ()
    """Processes or threads, the busiest first."""


@dataclass(frozen=True, kw_only=True)
class Total(Observed):
    """The cost of all processes of a target while they were observed."""

    seconds: float
    notes: Sequence[str] = ()
    """Sentences on missing counts, ended processes, and rising quantities."""


def sum_of(parts: Collection[Observed], name: str = "in all") -> Observed:
    calls = [part.syscalls_per_s for part in parts if part.syscalls_per_s is not None]
    memory = [part.memory_bytes for part in parts if part.memory_bytes is not None]
    return Observed(
        name=name,
        **vars(Cost.total(parts)),
        syscalls_per_s=sum(calls) if calls else None,
        memory_bytes=sum(memory) if len(memory) == len(parts) else None,
        parts=_busiest_first(parts),
    )


def _busiest_first(costs: Collection[Observed]) -> list[Observed]:
    return sorted(costs, key=lambda cost: -cost.estimated_cores)


@dataclass(frozen=True)
class Target:
    """Processes that are counted together, until all ``roots`` have ended."""

    name: str
    """As the user typed it."""
    pids: frozenset[int]
    roots: frozenset[int]
    """The processes that the user named, without their descendants."""


def find(target: object) -> Target:
    """Finds the processes of a cgroup, or those of a PID or a name with their descendants.

    ``target`` is an argument of the command, a PID, or an object with a ``pid``. Raises
    ``UsageError`` if nothing runs there, or this user may not count it.
    """
    target = getattr(target, "pid", target)
    name = str(target)
    if not proc.has_schedstat():
        raise UsageError("This system has no /proc/PID/schedstat, so nothing is known of threads.")
    located = target if isinstance(target, int) else locate(name)
    if located is None and name.isdecimal():
        # Python refuses to read thousands of digits.
        located = int(name[:20])
    elif located is None and files.is_file(Path(name) / PROCESSES):
        located = Path(name)
    if isinstance(located, Path):
        pids = roots = _pids_of_cgroup(located)
    else:
        roots = _pids_named(name) if located is None else {located}
        pids = roots.union(proc.descendants(*roots))
    if isinstance(located, int):
        _require_running(located, name)
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
            pass  # the process has ended meanwhile
    return Target(name, frozenset(pids), frozenset(pids & roots))


def _pids_of_cgroup(folder: Path) -> set[int]:
    texts = []
    for path in folder.rglob(PROCESSES):
        with suppress(OSError):  # the cgroup is gone, or threaded
            texts.append(path.read_text())
    return {int(pid) for text in texts for pid in text.split()}


def _require_running(pid: int, name: str) -> None:
    if not proc.stat(pid):
        raise UsageError(f"There is no process {name} that this user may see.")
    if not proc.identities([pid]):
        raise UsageError(f"Process {pid} has ended; its parent has not reaped it yet.")
    if pid == os.getpid():
        raise UsageError(f"Process {pid} is waitbench itself.")


def _pids_named(name: str) -> set[int]:
    comm = name[:_LONGEST_COMM]
    pids = {pid for pid in proc.all_processes() if proc.thread_name(pid, pid) == comm}
    if not name or not proc.identities(pids):
        raise UsageError(
            f"{name!r} is neither a PID nor a cgroup's folder with {PROCESSES}, nor the name of a "
            "running process. pgrep -f SCRIPT prints the PID of a script."
        )
    return pids


class Reading(NamedTuple):
    """The counts of a target's processes at one moment."""

    time_s: float
    alive: frozenset[int]
    trees: dict[int, set[int]]
    """Each process with its new children, without those that have ended."""
    counted: dict[Thread, Counter[str]]
    """The kernel's counters."""
    cpu_s: dict[int, float]
    """The CPU time of each process."""
    used: dict[Thread, proc.Used]
    """The figures of threads in ``/proc``."""


class Observation:
    """Counts the processes of a target until the exit stack is closed."""

    def __init__(self, target: Target, stack: ExitStack) -> None:
        self.target = target
        self._counters, self.notes = _open_counters(target.pids, stack)
        self._running = proc.identities(target.pids)
        # Descendants that already run, such as those in other cgroups, are not new children.
        self._excluded = target.pids.union(proc.descendants(*target.pids))
        self._names = {pid: _name(pid) for pid in target.pids}

    @property
    def has_ended(self) -> bool:
        return not self._running & proc.identities(self.target.roots)

    def read(self) -> Reading:
        pids, without = self.target.pids, self._excluded
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
        """The cost between two readings, with the present memory."""
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
            notes.append("This user may not read the memory of some of these.")
        memory = sum_of(living).memory_bytes if living else None
        total = vars(sum_of(parts.values())) | {"memory_bytes": memory}
        return Total(seconds=after.time_s - before.time_s, notes=notes, **total)


def look(process: object, seconds: float = 30.0) -> Total:
    """Counts the cost of a running process and its descendants for some seconds.

    ``process`` is a PID, an object with a ``pid``, the name of a program, a cgroup's folder, or a
    text such as ``podman:NAME``. Raises ``ValueError`` if this user can see no such process.
    """
    try:
        return observe(find(process), seconds)
    except UsageError as error:
        raise ValueError(str(error)) from error


def observe(target: Target, seconds: float) -> Total:
    """Counts processes for some seconds, or until they end. From 60 s on, notes tell of drift."""
    readings = _READINGS if seconds >= _LONG_S else 1
    rows = list[tuple[float | None, ...]]()
    with ExitStack() as stack:
        observation = Observation(target, stack)
        first = now = observation.read()
        for number in range(1, readings + 1):
            # Readings at regular moments could show a sawtooth as a slow rise: they are random.
            share = (number - random.random() * (number < readings)) / readings
            wait(target.roots, first.time_s + seconds * share - time.monotonic())
            before, now = now, observation.read()
            if observation.has_ended:
                break
            if readings > 1:
                rows.append(_readings_of_drift(observation.cost(before, now), now))
        total = observation.cost(first, now)
    rises = drift.sentences([*zip(*rows, strict=True)], total.seconds) if rows else []
    return replace(total, notes=[*total.notes, *rises])


def _readings_of_drift(cost: Total, now: Reading) -> tuple[float | None, ...]:
    """The present values of ``drift.QUANTITIES``."""
    pids = set[int]().union(*now.trees.values())
    try:
        opened = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    except OSError:
        opened = None
    return cost.memory_bytes, len(now.used), opened, cost.cores * 100


def _open_counters(pids: Collection[int], stack: ExitStack) -> tuple[_Counters, list[str]]:
    """Opens counters of all threads, closed by ``stack``. Also returns notes on missing counts."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    # Restored at the end: later children of a caller of ``look`` would inherit the raised limit.
    stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
    allowed = find_instruments()
    events, notes = {"cpu": counters.TASK_CLOCK, "switches": counters.CONTEXT_SWITCHES}, []
    if allowed.tracepoint is None:
        notes = [f"System calls are not counted: {allowed.reason}."]
    else:
        events["calls"] = (counters.TRACEPOINT, allowed.tracepoint)
    opened: _Counters = {}
    try:
        for key in proc.usage_by_thread(pids):
            with suppress(ProcessLookupError):
                whole = counters.TreeCounters(events, key[1], counters.INHERIT)
                stack.callback(whole.close)
                alone = counters.TreeCounters({"alone": counters.TASK_CLOCK}, key[1], 0)
                stack.callback(alone.close)
                opened[key] = whole, alone
    except OSError as error:
        message = (
            f"The kernel does not count here: {error.strerror}. System calls and processes that "
            "have ended are not in these figures."
        )
        return {}, [message]
    return opened, notes


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
    # Counters include all new children, so only the clock of the process itself is compared.
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
