"""Extra runs that give no figure of the comparison: timelines, and what a launcher adds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.cli.request import ValidRequest
from waitbench.execution import timeline
from waitbench.execution.measure import Measurer
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import WARM_UP, Measurement, PlannedRun
from waitbench.model.scenario import Scenario
from waitbench.reporting.progress import RunProgress
from waitbench.store import timelines

_LAUNCHER = "launcher"


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Which extra runs each revision has in each scenario."""

    timeline: bool
    launcher_cost: bool

    def at_work(
        self, request: ValidRequest, measurer: Measurer, folder: Path, progress: RunProgress
    ) -> "ExtrasAtWork":
        """What makes them. Raises ``UsageError`` where the engine has no launcher of its own."""
        if self.launcher_cost and _LAUNCHER not in request.engine.topologies:
            raise UsageError(f"--launcher-cost: {request.engine.name} has no launcher of its own.")
        return ExtrasAtWork(
            wanted=self,
            scenarios={scenario.name: scenario for scenario in request.scenarios},
            measurer=measurer,
            folder=folder,
            progress=progress,
        )


@dataclass(frozen=True, kw_only=True)
class ExtrasAtWork:
    """Makes the extra runs of a scenario."""

    wanted: Extras
    scenarios: Mapping[str, Scenario]
    measurer: Measurer
    folder: Path
    progress: RunProgress

    def add(self, record: Record) -> None:
        """Makes those that were asked for; what they show goes into the record and the folder."""
        scenario, bench = self.scenarios[record.scenario], self.measurer.bench
        labels = [
            label for label in bench.environments if bench.what_is_missing(scenario, label) is None
        ]
        if self.wanted.launcher_cost:
            for label in labels:
                self._add_launcher_cost(record, scenario, label)
        if self.wanted.timeline:
            samples = []
            for label in labels:
                self.progress.about(f"{label}: one more run of {scenario.name}, for its timeline")
                samples += timeline.record(scenario, label, bench)
            timelines.write(self.folder / f"{scenario.name}{timelines.SUFFIX}", samples)

    def _add_launcher_cost(self, record: Record, scenario: Scenario, label: str) -> None:
        self.progress.about(f"{label}: one more run of {scenario.name}, by the engine's launcher")
        bench = self.measurer.bench
        launched = replace(bench, topology=replace(bench.topology, kind=_LAUNCHER))
        planned = PlannedRun(scenario=scenario, label=label, round=WARM_UP, position=0)
        result = replace(self.measurer, bench=launched).measure(planned)
        if isinstance(result, Measurement) and "time_cpu_launcher" in result.metrics:
            record.launcher_cpu_s[label] = result.metrics["time_cpu_launcher"]
