"""One extra, unmeasured run -> which of its threads wake up, where, and where they use CPU.

It is only counted for a while: how often each thread goes to sleep, and for how long it is on a
CPU, read from ``/proc``, which wakes nobody up. Then it is looked at, and so on in turns, so that
of a run that ends early there is something of both. Places are to be weighed by wake-ups, not by
time, so a thread is watched until it has just gone to sleep, its process is stopped there, and its
stack is read: each sleep is as likely to be seen as any other, however short. Who works is looked
at while it is on a CPU, at moments that chance chooses. What that does to the worker is in no
count.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil

from waitbench import engines
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.launch_report import FAILURE, OUTPUT, WAITING
from waitbench.execution.looking import Looks
from waitbench.execution.thread_counts import PARTS, Thread
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.model.why import Counted, Place, Why
from waitbench.system import trees
from waitbench.system.processes import tail

_COUNTED_S = 3.0
_LOOKED_S = 40.0
"""At the most; in all parts together, as what is counted."""
_SETTLES_S = 0.5
"""Before each part."""
_SPARE_S = 15.0
"""To settle, and for looks that take long."""
_BEGINS_AFTER_S, _BEGINS_WITHIN_S = 1.0, 60.0
"""A worker that does not say when it waits is taken to do so; and one that does is waited for."""


def record(scenario: Scenario, label: str, bench: Bench) -> Why:
    """Runs a scenario once on a revision and looks at it.

    Raises ``HarnessError`` with the reason where nothing could be counted.
    """
    engine = engines.named(bench.environments[label].engine)
    # As long as a worker file says that it takes to know it.
    counted_s = float(scenario.parameters.get("window", 0)) if scenario.is_command else 0.0
    counted_s = counted_s or _COUNTED_S
    asked = scenario.lasting(counted_s + _LOOKED_S + _SPARE_S)
    within_s = _BEGINS_WITHIN_S if asked.is_own else _BEGINS_AFTER_S
    over = threading.Event()
    watching: list[Future[Looks]] = []
    with bench.prepare(asked, label) as ready, ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        marker = ready.folder / "waiting"

        def start(group: int) -> None:
            looks = Looks(engine, group, over)
            watching.append(pool.submit(_watch, looks, marker, within_s, counted_s))

        # Where the launcher of commands looks for what they say.
        out, err = (stack.enter_context((ready.folder / name).open("wb")) for name in OUTPUT)
        marked = replace(ready, variables={**ready.variables, WAITING: str(marker)})
        try:
            marked.carry_out(ready.command, stdout=out, stderr=err, on_start=start)
        finally:
            over.set()
        try:
            looks = watching[0].result()
        except (OSError, psutil.Error) as error:
            raise HarnessError(str(error)) from error
        if not looks.parts_s:
            raise HarnessError(f"the run ended before it was counted{_last_words(ready)}")
        return _why(label, looks)


def _watch(looks: Looks, marker: Path, within_s: float, counted_s: float) -> Looks:
    """Counts and looks in turns, and ends the run."""
    try:
        end = time.monotonic() + within_s
        while time.monotonic() < end and not marker.exists() and not looks.over.wait(0.02):
            pass
        for _ in range(PARTS):
            if looks.over.wait(_SETTLES_S):
                break
            looks.count(counted_s / PARTS)
            looks.look(_LOOKED_S / PARTS)
        return looks
    finally:
        trees.kill(lambda: [looks.root, *trees.below(looks.root)])


def _last_words(ready: ReadyRun) -> str:
    """Why a run ended, where that is known, to end a sentence."""
    failure = ready.folder / FAILURE
    logs = (tail(ready.folder / name, 1) for name in reversed(OUTPUT))
    words = failure.read_text("utf-8") if failure.exists() else next(filter(None, logs), "")
    return f": {words}" if words else ""


def _why(label: str, looks: Looks) -> Why:
    """What was counted, shared out over what was seen."""
    lasted_s = looks.lasted_s
    active = [one for one in looks.threads.values() if sum(one.wakeups) or sum(one.cpu_ns)]
    unseen = sum(sum(thread.wakeups) for thread in active if not thread.asleep) / lasted_s
    return Why(
        label=label,
        counted_s=lasted_s,
        looks=looks.number,
        places=tuple(place for thread in active for place in _places(thread, lasted_s)),
        threads=tuple(
            Counted(
                process=thread.process,
                thread=thread.name,
                wakeups_per_s=_rates(thread.wakeups, looks.parts_s),
                cpu_share=_rates([one / 1e9 for one in thread.cpu_ns], looks.parts_s),
                delayed=min(thread.delayed_ns / 1e9 / lasted_s, 1.0),
            )
            for thread in active
        ),
        remarks=tuple(_remarks(looks, unseen)),
    )


def _rates(counts: Sequence[float], parts_s: Sequence[float]) -> tuple[float, ...]:
    return tuple(count / part_s for count, part_s in zip(counts, parts_s, strict=False))


def _places(thread: Thread, lasted_s: float) -> Iterator[Place]:
    """Where a thread sleeps and works, each with its share of what the thread does."""
    wakeups_per_s = sum(thread.wakeups) / lasted_s
    cpu_share = sum(thread.cpu_ns) / 1e9 / lasted_s
    for waits, seen in ((True, thread.asleep or {(): 0}), (False, thread.at_work)):
        has_cpu = not (waits and thread.at_work)
        for stack, count in seen.items():
            share = count / sum(seen.values()) if count else 1.0
            wakeups, cpu = waits * wakeups_per_s * share, has_cpu * cpu_share * share
            if wakeups or cpu:
                yield Place(
                    process=thread.process,
                    thread=thread.name,
                    waits=waits,
                    stack=stack,
                    wakeups_per_s=wakeups,
                    cpu_share=cpu,
                    looks=count,
                )


def _remarks(looks: Looks, unseen: float) -> Iterator[str]:
    """What could not be seen."""
    for reason, processes in looks.reasons.items():
        yield f"{', '.join(sorted(processes))}: {reason}."
    if unseen:
        yield f"{unseen:.3g} wake-ups a second are of threads whose stack was not seen."
    if looks.begun:
        processes_of_it = "process of it" if looks.begun == 1 else "processes of it"
        yield f"{looks.begun} {processes_of_it} began while it was counted."
