"""One extra, unmeasured run -> which of its threads wake up, where, and where they use CPU.

First it is only counted: how often each thread goes to sleep, and for how long it is on a CPU, read
from ``/proc``, which wakes nobody up. Then it is looked at. Places are to be weighed by wake-ups,
not by time, so a thread is watched until it has just gone to sleep, its process is stopped there,
and its stack is read: each sleep is as likely to be seen as any other, however short. Who works is
looked at while it is on a CPU, at moments that chance chooses. What that does to the worker is in
no count.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from waitbench import engines
from waitbench.engines.base import Engine
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.beside import OUTPUT
from waitbench.execution.launch_report import FAILURE, WAITING
from waitbench.execution.looking import Looks
from waitbench.execution.thread_counts import SLICE_S, Counts, Thread
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.model.why import Counted, Frame, Place, Why
from waitbench.system import trees
from waitbench.system.processes import kill_group, tail

_SETTLES_S = 1.0
_COUNTED_S = 3.0
_LOOKED_S = 40.0
_COUNTED_PARTS = 4
"""So many parts of that time tell how much a thread varies."""
_SPARE_S = 15.0
"""To settle, and to look once more at who was not looked at."""
_LEARNED_S = 3.0
"""Where no worker says that it waits, it is taken to do so after as long."""
_BEGINS_WITHIN_S = 60.0
_WORTH_AGAIN_S = 1.0
"""A run that ended after less than that is not made again."""


def record(scenario: Scenario, label: str, bench: Bench) -> Why:
    """Runs a scenario once on a revision and looks at it.

    A dataflow that ends before it was looked at is run again, with times that fit.
    Raises ``HarnessError`` with the reason where nothing could be counted.
    """
    counted_s = _counted_s(scenario)
    asked = scenario.lasting(_LEARNED_S + counted_s + _LOOKED_S + _SPARE_S)
    if not scenario.is_command:
        counted_s = min(counted_s, asked.expected_s / 3)
    times = _Times(_LEARNED_S, _SETTLES_S, counted_s)
    watch = _watch(asked, label, bench, times)
    if watch.was_cut_short and watch.lived_s >= _WORTH_AGAIN_S:
        again = _watch(asked, label, bench, watch.times_that_fit())
        watch = max(watch, again, key=lambda one: one.looked)
    return watch.result()


def _watch(scenario: Scenario, label: str, bench: Bench, times: "_Times") -> "_Watch":
    """Makes one run, and looks at it."""
    engine = engines.named(bench.environments[label].engine)
    with bench.prepare(scenario, label) as ready:
        marker = ready.folder / "waiting"
        watch = _Watch(label, _Run(engine, scenario, marker, times))
        marked = replace(ready, variables={**ready.variables, WAITING: str(marker)})
        # Where the launcher of commands looks for what they say.
        with ExitStack() as stack:
            out, err = (stack.enter_context((ready.folder / name).open("wb")) for name in OUTPUT)
            try:
                marked.carry_out(ready.command, stdout=out, stderr=err, on_start=watch.start)
            finally:
                watch.over.set()
        watch.end(ready)
        return watch


def _counted_s(scenario: Scenario) -> float:
    """For how long to count: as long as a worker file says that it takes to know it."""
    outside = scenario.is_command
    return float(scenario.parameters.get("window", _COUNTED_S)) if outside else _COUNTED_S


@dataclass(frozen=True)
class _Times:
    learned_s: float
    """A worker that does not say when it waits is taken to do so after as long."""
    settles_s: float
    counted_s: float
    dumps: int = 3
    """How often threads' numbers are asked for, each of which may take a second."""


@dataclass(frozen=True)
class _Run:
    engine: Engine
    scenario: Scenario
    marker: Path
    times: _Times


class _Watch:
    """Counts and looks from a thread of its own, and ends the run."""

    def __init__(self, label: str, run: _Run) -> None:
        self._label = label
        self._run = run
        self.over = threading.Event()
        self.was_cut_short = False
        """Whether the run ended before enough was seen of it."""
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._counts: Counts | None = None
        self._looks: Looks | None = None
        self._failure = ""
        self._began = self._waits_from = self._ended = time.monotonic()

    def start(self, group: int) -> None:
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._work, args=(group,), daemon=True)
        self._thread.start()

    def end(self, ready: ReadyRun) -> None:
        """Waits until it is done with a run that has ended."""
        self.over.set()
        self._ended = time.monotonic()
        if self._thread is not None:
            self._thread.join()
        failure = ready.folder / FAILURE
        logs = (tail(ready.folder / name, 1) for name in reversed(OUTPUT))
        self._failure = (
            failure.read_text("utf-8") if failure.exists() else next(filter(None, logs), "")
        )

    def result(self) -> Why:
        """What was seen. Raises ``HarnessError`` where that is nothing."""
        if self._error is not None:
            raise HarnessError(str(self._error)) from self._error
        if self._counts is None or self._looks is None:
            why = f": {self._failure}" if self._failure else ""
            raise HarnessError(f"the run ended before it was counted{why}")
        return _why(self._label, self._counts, self._looks)

    @property
    def looked(self) -> int:
        """How many stacks it has read; -1 where nothing was counted."""
        return -1 if self._looks is None or self._error is not None else self._looks.number

    @property
    def lived_s(self) -> float:
        """How long the run lasted."""
        return self._ended - self._began

    def times_that_fit(self) -> _Times:
        """Times for a run that lasts as long as this one, most of them left to look at it."""
        learned_s = min(self._run.times.learned_s, self.lived_s / 4)
        if self._run.scenario.is_own and self._waits_from > self._began:
            learned_s = self._waits_from - self._began
        left_s = max(self.lived_s - learned_s, SLICE_S)
        return _Times(learned_s, left_s / 8, left_s / 4, dumps=0)

    def _work(self, group: int) -> None:
        try:
            self._await_waiting()
            counts = Counts(self._run.engine, group)
            counts.count(self._run.times.counted_s, self.over)
            if counts.lasted_s < min(SLICE_S, self._run.times.counted_s):
                return
            self._counts, self._looks = counts, Looks(counts, self.over)
            self._looks.learn(self._run.times.dumps)
            self._looks.look(_LOOKED_S)
        except (OSError, psutil.Error, HarnessError) as error:
            self._error = error
        finally:
            self.was_cut_short = self.over.is_set()
            left = trees.below(group)
            kill_group(group)
            for one in left:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    def _await_waiting(self) -> None:
        """Until the worker waits, or is taken to."""
        times = self._run.times
        within_s = times.learned_s + (_BEGINS_WITHIN_S if self._run.scenario.is_own else 0.0)
        end = time.monotonic() + within_s
        while time.monotonic() < end and not self._run.marker.exists():
            if self.over.wait(0.02):
                return
        self._waits_from = time.monotonic()
        self.over.wait(times.settles_s)


def _why(label: str, counts: Counts, looks: Looks) -> Why:
    """What was counted, shared out over what was seen."""
    places: list[Place] = []
    threads: list[Counted] = []
    unseen = 0.0
    for key, thread in counts.threads.items():
        wakeups_per_s = thread.wakeups / counts.lasted_s
        share = thread.cpu_ns / 1e9 / counts.lasted_s
        if not wakeups_per_s and share < 1e-5:
            continue
        seen = looks.seen[key]
        asleep = seen.asleep or seen.by_chance
        name = looks.names.get(key) or thread.name
        threads.append(_counted(thread, name, counts.lasted_s))
        parts: list[tuple[bool, tuple[Frame, ...], float, float, int]] = []
        cpu_asleep = 0.0 if seen.at_work else share
        parts += [
            (True, stack, wakeups_per_s * part, cpu_asleep * part, looks)
            for stack, part, looks in _parts(asleep)
        ]
        parts += [
            (False, stack, 0.0, share * part, looks) for stack, part, looks in _parts(seen.at_work)
        ]
        if not asleep:
            parts.append((True, (), wakeups_per_s, cpu_asleep, 0))
            unseen += wakeups_per_s
        places += [
            Place(
                process=thread.process,
                thread=name,
                waits=waits,
                stack=stack,
                wakeups_per_s=wakeups,
                cpu_share=cpu,
                looks=looks,
            )
            for waits, stack, wakeups, cpu, looks in parts
            if wakeups or cpu
        ]
    return Why(
        label=label,
        counted_s=counts.lasted_s,
        looks=looks.number,
        places=tuple(places),
        threads=tuple(threads),
        remarks=tuple(_remarks(counts, looks, unseen)),
    )


def _parts(seen: Counter[tuple[Frame, ...]]) -> Iterator[tuple[tuple[Frame, ...], float, int]]:
    """Each stack, its share of all looks, and how many these were."""
    total = seen.total()
    return ((stack, count / total, count) for stack, count in seen.items())


def _counted(thread: Thread, name: str, lasted_s: float) -> Counted:
    """What a thread did in each of some equal parts of the time."""
    wakeups, cpu_s = [0.0] * _COUNTED_PARTS, [0.0] * _COUNTED_PARTS
    for ended_s, used in thread.slices:
        part = min(int((ended_s - SLICE_S / 2) / lasted_s * _COUNTED_PARTS), _COUNTED_PARTS - 1)
        wakeups[part] += used.wakeups
        cpu_s[part] += used.cpu_ns / 1e9
    part_s = lasted_s / _COUNTED_PARTS
    return Counted(
        process=thread.process,
        thread=name,
        wakeups_per_s=tuple(one / part_s for one in wakeups),
        cpu_share=tuple(one / part_s for one in cpu_s),
        delayed=min(thread.delayed_ns / 1e9 / lasted_s, 1.0),
    )


def _remarks(counts: Counts, looks: Looks, unseen: float) -> Iterator[str]:
    """What could not be seen."""
    roles = {pid: thread.process for (pid, _), thread in counts.threads.items()}
    told: dict[str, set[str]] = {}
    reasons = [(pid, why) for (pid, _), why in looks.lacking.items() if why]
    reasons += [
        (pid, f"not all of its functions can be seen: {why}") for pid, why in looks.unseen.items()
    ]
    for pid, why in reasons:
        told.setdefault(why, set()).add(roles.get(pid, "a process"))
    for why, processes in told.items():
        yield f"{', '.join(sorted(processes))}: {why}."
    if unseen:
        yield f"{unseen:.3g} wake-ups a second are of threads whose stack was not seen."
    if counts.begun:
        processes_of_it = "process of it" if counts.begun == 1 else "processes of it"
        yield f"{counts.begun} {processes_of_it} began while it was counted."
