"""Samples one extra, unmeasured run: which threads wake up, where, and where they use CPU.

Counting and sampling alternate, so that a run that ends early has both. Sleeps and CPU time of each
thread are read from ``/proc``, which wakes no thread. Stacks are weighted by wake-ups, not by time:
a thread is watched until it goes to sleep, then its process is stopped and its stack read, so that
each sleep is as likely to be seen as any other, however short. Threads at work are sampled at
random moments. The effects of stops are in no count.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.launch_report import FAILURE, OUTPUT, WAITING
from waitbench.features.why.sampler import StackSampler, ThreadSamples, without_numbers
from waitbench.features.why.samples import KERNEL, Frame, Stack, Thread, Why
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.system import trees
from waitbench.system.processes import tail

_COUNTED_S = 3.0
_SAMPLED_S = 40.0
"""The most, in all parts together; so is the counted time."""
_SETTLES_S = 0.5
_SPARE_S = 15.0
"""To settle, and for samples that take long."""
_BEGINS_AFTER_S, _BEGINS_WITHIN_S = 1.0, 60.0
"""When waiting begins: assumed, if the worker does not say it; else a time limit."""


def record(scenario: Scenario, label: str, bench: Bench) -> Why:
    """Samples one run of a scenario. Raises ``HarnessError`` if nothing was counted."""
    # A worker file's window is long enough to know the worker.
    counted_s = scenario.window_s or _COUNTED_S
    longer = scenario.lasting(counted_s + _SAMPLED_S + _SPARE_S)
    begins_within_s = _BEGINS_WITHIN_S if longer.is_own else _BEGINS_AFTER_S
    over = threading.Event()
    watching: list[Future[StackSampler]] = []
    with bench.prepare(longer, label) as ready, ThreadPoolExecutor(1) as pool:
        marker = ready.folder / "waiting"

        def start(group: int) -> None:
            sampler = StackSampler(lambda: trees.below(group), bench.engine.role, over)
            watching.append(pool.submit(_watch, group, sampler, marker, begins_within_s, counted_s))

        marked = replace(ready, variables={**ready.variables, WAITING: str(marker)})
        try:
            marked.carry_out(ready.launcher, start)
        finally:
            over.set()
        try:
            sampler = watching[0].result()
        except OSError as error:
            raise HarnessError(str(error)) from error
        if not sampler.parts_s:
            raise HarnessError(f"the run ended before it was counted{_last_words(ready)}")
        return _why(label, sampler)


def look(find: Callable[[], Sequence[int]], seconds: float) -> Why:
    """Counts and samples processes that run already, for ``seconds``.

    No signal stops them: their parents would notice. A stack is read such that the process goes on
    at once if this one dies.
    """
    sampler = StackSampler(find, lambda _: None, threading.Event(), lambda _: nullcontext(True))
    sampler.alternate(seconds, _SAMPLED_S)
    return _why("now", sampler)


def _watch(
    root: int, sampler: StackSampler, marker: Path, within_s: float, counted_s: float
) -> StackSampler:
    try:
        end = time.monotonic() + within_s
        while time.monotonic() < end and not marker.exists() and not sampler.over.wait(0.02):
            pass
        sampler.alternate(counted_s, _SAMPLED_S, _SETTLES_S)
        return sampler
    finally:
        trees.kill(lambda: [root, *trees.below(root)])


def _last_words(ready: ReadyRun) -> str:
    failure = ready.folder / FAILURE
    logs = (tail(ready.folder / name, 1) for name in reversed(OUTPUT))
    words = tail(failure, 1) or next(filter(None, logs), "")
    return f": {words}" if words else ""


def _why(label: str, sampler: StackSampler) -> Why:
    """Summarises counts and samples; threads of one name in one process are added."""
    same: dict[tuple[str, str], list[ThreadSamples]] = {}
    for thread in sampler.threads.values():
        if any(thread.wakeups) or any(thread.cpu_ns):
            same.setdefault((thread.process, _name(thread)), []).append(thread)
    roles = {pid: thread.process for (pid, _), thread in sampler.threads.items()}
    reasons: dict[str, list[str]] = {}
    for pid, reason in sampler.unread.items():
        reasons.setdefault(reason, []).append(roles[pid])
    return Why(
        label=label,
        counted_s=sum(sampler.parts_s),
        threads=tuple(_together(*key, threads, sampler.parts_s) for key, threads in same.items()),
        remarks=tuple(f"{', '.join(names)}: {reason}." for reason, names in reasons.items()),
    )


def _name(thread: ThreadSamples) -> str:
    if thread.name:
        return without_numbers(thread.name)
    stacks = (*thread.asleep, *thread.at_work)
    return next(
        (f"{frames[0].name}()" for frames in stacks if frames[0].kind != KERNEL), "unnamed thread"
    )


def _together(
    process: str, name: str, threads: Sequence[ThreadSamples], parts_s: Sequence[float]
) -> Thread:
    wakeups = (sum(part) for part in zip(*(thread.wakeups for thread in threads), strict=True))
    cpu_ns = (sum(part) for part in zip(*(thread.cpu_ns for thread in threads), strict=True))
    delayed_s = max(thread.delayed_ns for thread in threads) / 1e9
    return Thread(
        process=process,
        name=name,
        wakeups_per_s=tuple(n / part_s for n, part_s in zip(wakeups, parts_s, strict=False)),
        cpu_share=tuple(n / 1e9 / part_s for n, part_s in zip(cpu_ns, parts_s, strict=False)),
        delayed=min(delayed_s / sum(parts_s), 1.0),
        asleep=_stacks(thread.asleep for thread in threads),
        at_work=_stacks(thread.at_work for thread in threads),
    )


def _stacks(seen: Iterable[Counter[tuple[Frame, ...]]]) -> tuple[Stack, ...]:
    return tuple(Stack(*sample) for sample in sum(seen, Counter()).most_common())
