"""Costs of running processes, counted by the kernel from outside for a while (Linux).

Opens two of the kernel's counters on each thread: of the thread with all its future descendants,
and of the thread alone. Both lag behind the scheduler's clock, by the same time, as in
execution/counted_tree.
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
from typing import NamedTuple

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Cost
from waitbench.system import files, proc, supervisor
from waitbench.system.counters import CONTEXT_SWITCHES, INHERIT, TASK_CLOCK, TreeCounters, hits_of
from waitbench.system.machine import find_instruments
from waitbench.system.proc import Thread

_PROCESSES = "cgroup.procs"
_MOST_DIGITS = 20
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


def find(target: str) -> set[int]:
    """The processes of a cgroup's folder, or a PID with its descendants. Raises ``UsageError``."""
    if not proc.has_schedstat():
        raise UsageError("This system has no /proc/PID/schedstat, so nothing is known of threads.")
    if target.isdecimal() and len(target) < _MOST_DIGITS:
        pid = int(target)
        if pid not in proc.all_processes():
            raise UsageError(f"There is no process {pid} that this user may see.")
        pids = {pid, *proc.descendants(pid)}
    elif files.is_file(Path(target) / _PROCESSES):
        texts = []
        for path in Path(target).rglob(_PROCESSES):
            with suppress(OSError):  # it is gone, or a threaded cgroup
                texts.append(path.read_text())
        pids = {int(pid) for text in texts for pid in text.split()}
    else:
        raise UsageError(f"{target!r} is neither a PID nor a cgroup's folder with {_PROCESSES}.")
    pids = {pid for pid, _ in proc.identities(pids) if not proc.is_kernel_thread(pid)}
    pids -= {os.getpid(), *supervisor.parents}
    if not pids:
        raise UsageError(f"{target}: nothing runs there but threads of the kernel and waitbench.")
    for pid in pids:
        try:
            os.kill(pid, 0)
        except PermissionError as error:
            raise UsageError(f"Process {pid} is another user's: run this as root.") from error
        except ProcessLookupError:
            pass  # it has ended just now
    return pids


def observe(pids: set[int], seconds: float) -> tuple[float, Observed, Sequence[str]]:
    """Observes processes for a time or until all have ended: seconds, total cost, notes."""
    with ExitStack() as stack:
        counters, notes = _count(pids, stack)
        running = proc.identities(pids)
        # Children in another cgroup are not ours.
        others = pids.union(proc.descendants(*pids))
        names = {pid: _name(pid) for pid in pids}
        before = _read(pids, counters)
        _wait(pids, seconds)
        alive = {pid for pid, _ in running & proc.identities(pids)}
        begun = {*proc.descendants(*pids, without=others)}
        after = _read(alive | begun, counters)
        trees_of = {
            pid: (begun and begun.intersection(proc.descendants(pid, without=others)))
            | ({pid} & alive)
            for pid in pids
        }
        costs = {pid: _cost(pid, names[pid], trees_of[pid], before, after) for pid in pids}
    living = [costs[pid] for pid in pids if trees_of[pid]]
    if len(alive) < len(pids):
        until = ", counted until then" if counters else ""
        notes.append(f"{len(pids - alive)} of {len(pids)} processes ended meanwhile{until}.")
    if any(cost.memory_bytes is None for cost in living):
        notes.append("The memory of some of these may not be read.")
    memory = sum_of(living).memory_bytes if living else None
    total = replace(sum_of(costs.values()), memory_bytes=memory)
    return after.time_s - before.time_s, total, notes


def _count(pids: Collection[int], stack: ExitStack) -> tuple[_Counters, list[str]]:
    """Opens counters of all threads; returns them with notes on missing counts."""
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
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


class _Reading(NamedTuple):
    time_s: float
    counted: dict[Thread, Counter[str]]
    cpu_s: dict[int, float]
    used: dict[Thread, proc.Used]


def _read(pids: Collection[int], counters: _Counters) -> _Reading:
    now_s, cpu_s = time.monotonic(), {}
    counted = {
        key: Counter({**whole.reading(), **alone.reading()})
        for key, (whole, alone) in counters.items()
    }
    for pid in pids:
        with suppress(OSError):
            cpu_s[pid] = proc.clock_s(pid)
    return _Reading(now_s, counted, cpu_s, proc.usage_by_thread(pids))


def _wait(pids: Collection[int], seconds: float) -> None:
    end_s = time.monotonic() + seconds
    for pid in pids:
        with suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid), "rb", 0) as ending:
            poll = select.poll()  # select takes no descriptor above 1023
            poll.register(ending, select.POLLIN)
            poll.poll(max(0.0, 1000 * (end_s - time.monotonic())))


def _name(pid: int) -> str:
    words = proc.arguments(pid)
    return shlex.join(words) if any(words) else proc.thread_name(pid, pid)


def _cost(pid: int, name: str, tree: set[int], before: _Reading, after: _Reading) -> Observed:
    """The cost of a process with its new children; ``tree`` are those of them that still run."""
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
    memory = proc.memory(tree)
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
