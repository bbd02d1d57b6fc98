"""Extra runs that give no figure: who wakes up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from waitbench.analysis.stack_tree import folded
from waitbench.execution import why as looking
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.model.why import Why
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting import why as reasons
from waitbench.reporting.document import Table
from waitbench.store import why
from waitbench.system import tasks


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Which extra runs each revision has in each scenario."""

    why: bool = False

    def validate(self) -> None:
        """Raises ``UsageError`` where this machine does not let anything be sampled."""
        if self.why and not tasks.is_possible():
            raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")

    def at_work(
        self, request: ValidRequest, measurer: Measurer, folder: Path, progress: "ProgressLine"
    ) -> "ExtrasAtWork":
        """What makes them."""
        return ExtrasAtWork(
            wanted=self,
            scenarios={scenario.name: scenario for scenario in request.scenarios},
            measurer=measurer,
            folder=folder,
            progress=progress,
        )


def kept_tables(folder: Path, scenario: str) -> list[Table]:
    """Those of what a folder of results has of a scenario besides its record."""
    return reasons.tables(scenario, why.of(folder, scenario))


class ProgressLine(Protocol):
    """Who says what is done between runs."""

    def about(self, what: str) -> None:
        """Says it."""


@dataclass(frozen=True, kw_only=True)
class ExtrasAtWork:
    """Makes the extra runs of a scenario."""

    wanted: Extras
    scenarios: Mapping[str, Scenario]
    measurer: Measurer
    folder: Path
    progress: ProgressLine

    def add(self, record: Record) -> list[Table]:
        """Makes those that were asked for; what they show goes into the record and the folder.

        Returns the tables of what is not in the record.
        """
        scenario, bench = self.scenarios[record.scenario], self.measurer.bench
        labels = [
            label for label in bench.environments if bench.what_is_missing(scenario, label) is None
        ]
        return self.explain(scenario, labels) if self.wanted.why else []

    def explain(self, scenario: Scenario, labels: Sequence[str]) -> list[Table]:
        """The tables of where those wait that could be looked at, and why the others could not."""
        found: list[Why] = []
        lacking: dict[str, str] = {}
        for label in labels:
            self.progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
            try:
                found.append(looking.record(scenario, label, self.measurer.bench))
            except HarnessError as error:
                lacking[label] = str(error)
        if found:
            why.write(self.folder, scenario.name, found)
        for one in found:
            why.write_folded(self.folder, scenario.name, one.label, folded(one))
        return reasons.tables(scenario.name, found, lacking)
