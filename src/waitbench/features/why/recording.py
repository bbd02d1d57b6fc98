"""Samples one more, unmeasured run of a revision."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.launch_report import FAILURE, OUTPUT, WAITING
from waitbench.features.why.sampler import SAMPLED_S, StackSampler
from waitbench.features.why.samples import Samples
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.system import proc
from waitbench.system.processes import tail

_COUNTED_S = 3.0
_SETTLES_S = 0.5
_SPARE_S = 15.0
"""To settle, and for samples that take long."""
_BEGINS_AFTER_S, _BEGINS_WITHIN_S = 1.0, 60.0
"""When waiting begins: assumed, if the worker does not say it; else a time limit."""


def record(scenario: Scenario, label: str, bench: Bench) -> Samples:
    """Samples one run of a scenario. Raises ``HarnessError`` if nothing was counted."""
    # A worker file's window is long enough to know the worker.
    counted_s = scenario.window_s or _COUNTED_S
    longer = scenario.lasting(counted_s + SAMPLED_S + _SPARE_S)
    begins_within_s = _BEGINS_WITHIN_S if longer.is_own else _BEGINS_AFTER_S
    over = threading.Event()
    watching: list[Future[StackSampler]] = []
    with bench.prepare(longer, label) as ready, ThreadPoolExecutor(1) as pool:
        marker = ready.folder / "waiting"

        def start(group: int) -> None:
            sampler = StackSampler(lambda: proc.descendants(group), bench.engine.role, over)
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
        return sampler.samples(label)


def _watch(
    root: int, sampler: StackSampler, marker: Path, within_s: float, counted_s: float
) -> StackSampler:
    try:
        end = time.monotonic() + within_s
        while time.monotonic() < end and not marker.exists() and not sampler.over.wait(0.02):
            pass
        sampler.alternate(counted_s, _SETTLES_S)
        return sampler
    finally:
        proc.kill(lambda: [root, *proc.descendants(root)])


def _last_words(ready: ReadyRun) -> str:
    failure = ready.folder / FAILURE
    logs = (tail(ready.folder / name, 1) for name in reversed(OUTPUT))
    words = tail(failure, 1) or next(filter(None, logs), "")
    return f": {words}" if words else ""
