"""``compare --why``: samples the stacks of an extra run of each revision."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from msgspec import to_builtins

from waitbench.execution.bench import Bench
from waitbench.execution.launch_report import FAILURE, OUTPUT, WAITING
from waitbench.features.why import lines, samples
from waitbench.features.why.sampler import SAMPLED_S, StackSampler, sample_running
from waitbench.features.why.samples import Samples
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.launch import BatchSlot
from waitbench.model.record import ScenarioResults
from waitbench.model.scenario import Scenario
from waitbench.pipeline.extension import Extension, Select
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.reporting.document import Contribution, Section
from waitbench.reporting.output import RunProgress
from waitbench.system import proc
from waitbench.system.processes import tail

_TITLE = "who wakes up while it waits, and from where · one extra run each"
_COUNTED_S = 3.0
"""The time of counting wake-ups, if the scenario has no window."""
_SETTLES_S = 0.5
"""The time that a worker gets to settle before each part of the counts."""
_SPARE_S = 15.0
"""Additional time of the run, for settling and for slow samples."""
_IDLE_WITHIN_S = 60.0
"""The longest time until a worker waits for input."""


@dataclass(frozen=True)
class WhyExtension(Extension):
    """Adds the threads that wake up, and their functions, to the report."""

    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Find which threads wake up, in which functions."
            "\n\nTakes one extra run of each revision; docs/why.md has the requirements.",
        ),
    ] = False

    EXAMPLE = (
        "./compare.sh v0.16.0 v0.16.1 -s partitioned-long-input --why   "
        "# who wakes up, and from where"
    )

    def scenarios(self, request: Request, select: Select) -> tuple[Scenario, ...]:
        if self.why and not proc.has_schedstat():
            raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")
        return select(request)

    def after_runs(
        self, valid: ValidRequest, bench: Bench, folder: Path, progress: RunProgress
    ) -> None:
        for scenario in valid.scenarios_here if self.why else ():
            if revisions := _sampled(scenario, bench, progress):
                samples.write(folder, scenario.name, revisions)

    def contribution(self, folder: Path, records: Sequence[ScenarioResults]) -> Contribution:
        by_scenario = {it.scenario: samples.read(folder, it.scenario) for it in records}
        return Contribution(
            sections=[
                Section(title=name, tables=lines.tables(f"{name} · {_TITLE}", revisions))
                for name, revisions in by_scenario.items()
                if revisions
            ],
            explains=("--why", "which thread wakes up, and in which function"),
        )

    def explain_running(self, find: Callable[[], Sequence[int]], seconds: float) -> Contribution:
        revisions = [sample_running(find, seconds)]
        tables = lines.tables("who wakes up, and from where", revisions)
        return Contribution(
            sections=[Section(title="", tables=tables)], json={"why": to_builtins(revisions)}
        )


def _sampled(scenario: Scenario, bench: Bench, progress: RunProgress) -> list[Samples]:
    """Samples an extra run of each revision that can run the scenario."""
    revisions = []
    for label in bench.environments:
        if bench.what_is_missing(scenario, label) is not None:
            continue
        progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
        try:
            revisions.append(sample_run(scenario, label, bench))
        except HarnessError as error:
            progress.say(f"{label}: not sampled: {str(error).splitlines()[0]}")
    return revisions


def sample_run(scenario: Scenario, label: str, bench: Bench) -> Samples:
    """Samples one run of a scenario. Raises ``HarnessError`` if the run ended before any count."""
    # The window of a worker file is as long as its periodic work needs.
    counted_s = scenario.window_s or _COUNTED_S
    longer = scenario.with_least_window(counted_s + SAMPLED_S + _SPARE_S)
    ended = threading.Event()
    sampling: list[Future[StackSampler]] = []
    with bench.prepare(longer, label, BatchSlot()) as ready, ThreadPoolExecutor(1) as pool:
        marker = ready.folder / "waiting"

        def sample(root: int) -> StackSampler:
            """Samples the processes of the run as soon as they wait, then ends them."""
            sampler = StackSampler(lambda: proc.descendants(root), bench.engine.role, ended)
            end = time.monotonic() + _IDLE_WITHIN_S
            try:
                while time.monotonic() < end and not marker.exists() and not ended.wait(0.02):
                    pass
                sampler.alternate(counted_s, _SETTLES_S)
            finally:
                proc.kill(lambda: proc.tree(root))
            return sampler

        marked = replace(ready, variables={**ready.variables, WAITING: str(marker)})
        try:
            marked.carry_out(ready.launcher, lambda it: sampling.append(pool.submit(sample, it)))
        finally:
            ended.set()
        try:
            sampler = sampling[0].result()
        except OSError as error:
            raise HarnessError(str(error)) from error
        if not sampler.parts_s:
            logs = (tail(ready.folder / name, 1) for name in (FAILURE, *reversed(OUTPUT)))
            last_words = next((f": {line}" for line in logs if line), "")
            raise HarnessError(f"the run ended before its wake-ups were counted{last_words}")
        return sampler.samples(label)
