"""What processes that run already use, counted from outside for a while (Linux).

The kernel's counters are opened on each thread, and count what it starts from then on, too,
wherever that moves to. A second one is of the thread by itself: by so much as it is behind the
scheduler's clock, the first one is, too, as in execution/counted_tree.
"""

import os
import resource
import select
import shlex
import time
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.model.errors import UsageError
from waitbench.system import tasks, trees
from waitbench.system.counters import (
    CONTEXT_SWITCHES,
    INHERIT,
    TASK_CLOCK,
    TreeCounters,
    hits_of,
)
from waitbench.system.instruments import find_instruments

_PROCESSES = "cgroup.procs"
_PRICE_S = 5e-5
"""What a wake-up counts for beside CPU, where the busiest comes first."""
_Key = tuple[int, int]
"""The process and the thread."""
_Counters = dict[_Key, tuple[TreeCounters, TreeCounters]]
"""Of a thread with all that it starts, and of the thread alone."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a thread uses, a process with what it has started meanwhile, or all of them."""

    id: int
    name: str
    """Of a process its command line."""
    cores: float
    wakeups_per_s: float
    syscalls_per_s: float | None = None
    """``None`` where they are not counted; of a thread with those of what it has started."""
    memory_bytes: int | None = None
    """PSS; ``None`` of threads, of what has ended, and where it may not be read."""
    parts: Sequence["Cost"] = ()
    """The processes, or the threads; the busiest first."""


def total(parts: Collection[Cost]) -> Cost:
    """What some use together."""
    calls, memory = (
        [value for one in parts if (value := getattr(one, key)) is not None]
        for key in ("syscalls_per_s", "memory_bytes")
    )
    return Cost(
        id=0,
        name="in all",
        cores=sum(one.cores for one in parts),
        wakeups_per_s=sum(one.wakeups_per_s for one in parts),
        syscalls_per_s=sum(calls) if calls else None,
        memory_bytes=sum(memory) if len(memory) == len(parts) else None,
        parts=_busiest_first(parts),
    )


def _busiest_first(costs: Collection[Cost]) -> list[Cost]:
    return sorted(costs, key=lambda one: -max(one.cores, one.wakeups_per_s * _PRICE_S))


def find(target: str) -> set[int]:
    """The processes of a PID, which is with those below it, or of a cgroup's folder.

    Raises ``UsageError`` where there are none, or one is another user's.
    """
    if not tasks.is_possible():
        raise UsageError("This system has no /proc/PID/schedstat, so nothing is known of threads.")
    if target.isdecimal():
        pid = int(target)
        if pid not in trees.all_processes():
            raise UsageError(f"There is no process {pid} that this user may see.")
        found = {pid, *trees.below(pid)}
    elif (Path(target) / _PROCESSES).is_file():
        texts = []
        for path in Path(target).rglob(_PROCESSES):
            with suppress(OSError):  # it is gone; or has threads only, of processes above it
                texts.append(path.read_text())
        found = {int(pid) for text in texts for pid in text.split()}
    else:
        raise UsageError(f"{target!r} is neither a PID nor a cgroup's folder with {_PROCESSES}.")
    found = {one for one, _ in trees.identities(found) if not trees.is_kernel_thread(one)}
    found -= {os.getpid()}
    if not found:
        raise UsageError(f"{target}: nothing runs there but threads of the kernel and waitbench.")
    for pid in found:
        try:
            os.kill(pid, 0)
        except PermissionError as error:
            raise UsageError(f"Process {pid} is another user's: call this as root.") from error
        except ProcessLookupError:
            pass  # it has ended just now
    return found


def observe(pids: set[int], seconds: float) -> tuple[float, Cost, Sequence[str]]:
    """Sleeps for so long, or until all have ended: how long, their cost, and sentences."""
    with ExitStack() as stack:
        counters, notes = _count(pids, stack)
        running = trees.identities(pids)
        # A child may be in another cgroup.
        others = pids.union(trees.below(*pids))
        before = _Reading(pids, counters)
        names = {pid: _name(pid) for pid in pids}
        _outlast(pids, seconds)
        after = _Reading((), counters)
        alive = {pid for pid, _ in running & trees.identities(pids)}
        begun = {*trees.below(*pids, without=others)}
        after.add(alive | begun)
        costs, living = [], []
        for pid in pids:
            own = begun and begun.intersection(trees.below(pid, without=others))
            own |= {pid} & alive
            costs.append(_cost(pid, names[pid], own, before, after))
            living += costs[-1:] if own else []
    if len(alive) < len(pids):
        until = ", counted until then" if counters else ""
        notes.append(f"{len(pids - alive)} of {len(pids)} processes ended meanwhile{until}.")
    if any(cost.memory_bytes is None for cost in living):
        notes.append("The memory of some of these may not be read.")
    memory = total(living).memory_bytes if living else None
    return after.time_s - before.time_s, replace(total(costs), memory_bytes=memory), notes


def _count(pids: Collection[int], stack: ExitStack) -> tuple[_Counters, list[str]]:
    """Counters of the threads of processes, and a sentence on what is not counted."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    allowed = find_instruments()
    events, notes = {"cpu": TASK_CLOCK, "switches": CONTEXT_SWITCHES}, []
    if allowed.tracepoint is None:
        notes = [f"System calls are not counted: {allowed.reason}."]
    else:
        events["calls"] = hits_of(allowed.tracepoint)
    counters: _Counters = {}
    try:
        for key in _threads(pids):
            with suppress(ProcessLookupError):
                whole = stack.enter_context(TreeCounters(events, key[1], INHERIT))
                alone = stack.enter_context(TreeCounters({"alone": TASK_CLOCK}, key[1], 0))
                counters[key] = whole, alone
    except OSError as error:
        why = f"The kernel does not count here: {error.strerror}. System calls, and"
        return {}, [f"{why} what ended, are not in these figures."]
    return counters, notes


def _threads(pids: Collection[int]) -> set[_Key]:
    return {(pid, tid) for pid in pids for tid in tasks.threads(pid)}


class _Reading:
    """What was counted so far, and what processes and threads have used that run."""

    def __init__(self, pids: Collection[int], counters: _Counters) -> None:
        self.time_s = time.monotonic()
        self.counted = {
            key: Counter({**whole.reading(), **alone.reading()})
            for key, (whole, alone) in counters.items()
        }
        self.cpu_s: dict[int, float] = {}
        self.used: dict[_Key, tasks.Used] = {}
        self.add(pids)

    def add(self, pids: Collection[int]) -> None:
        """Reads some more."""
        for pid in pids:
            with suppress(OSError):
                self.cpu_s[pid] = trees.clock_s(pid)
        for key in _threads(pids):
            if (used := tasks.used(*key)) is not None:
                self.used[key] = used


def _outlast(pids: Collection[int], seconds: float) -> None:
    """Sleeps for so long, or until all have ended."""
    end_s = time.monotonic() + seconds
    for pid in pids:
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid), "rb", 0) as ending:
            poll = select.poll()  # select takes no number above 1023
            poll.register(ending, select.POLLIN)
            poll.poll(max(0.0, 1000 * (end_s - time.monotonic())))


def _name(pid: int) -> str:
    words = tasks.arguments(pid)
    return shlex.join(words) if any(words) else tasks.name(pid, pid)


def _cost(pid: int, name: str, own: set[int], before: _Reading, after: _Reading) -> Cost:
    """Of a process with those that it has begun; ``own`` are those of them that run."""
    seconds = after.time_s - before.time_s
    counted = {key: of - before.counted[key] for key, of in after.counted.items() if key[0] == pid}
    has_calls = any("calls" in of for of in after.counted.values())
    whole = sum(counted.values(), Counter[str]())
    used = {
        key: now.since(before.used.get(key, tasks.Used(0, 0)))
        for key, now in after.used.items()
        if key[0] in own
    }
    wakeups = sum(one.wakeups for one in used.values())
    if before.counted:
        wakeups = max(0, whole["switches"] - sum(one.preempted for one in used.values()))
    # What it has begun is in the counters of whoever began it, and may be below another one now.
    clocks = {pid} & own if before.counted else own
    own_s = sum(after.cpu_s.get(one, 0.0) - before.cpu_s.get(one, 0.0) for one in clocks)
    lag_ns = sum(
        max(0, used[key].cpu_ns - of["alone"]) for key, of in counted.items() if key in used
    )
    threads = [
        Cost(
            id=key[1],
            name="main thread" if key == (pid, pid) else tasks.name(*key),
            cores=one.cpu_ns / 1e9 / seconds,
            wakeups_per_s=one.wakeups / seconds,
            syscalls_per_s=counted[key]["calls"] / seconds
            if has_calls and key in counted
            else None,
        )
        for key, one in used.items()
        if key[0] == pid
    ]
    memory = trees.memory(own)
    return Cost(
        id=pid,
        name=name,
        cores=max(own_s, (whole["cpu"] + lag_ns) / 1e9) / seconds,
        wakeups_per_s=wakeups / seconds,
        syscalls_per_s=whole["calls"] / seconds if has_calls else None,
        memory_bytes=None if memory is None else memory.proportional,
        parts=_busiest_first(threads),
    )
