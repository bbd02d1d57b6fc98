"""``compare --why``: one more run of each revision, of which stacks are sampled."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from waitbench.execution.bench import Bench
from waitbench.features.why import recording, store, view
from waitbench.features.why.samples import Why
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.pipeline.extension import Extension
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.reporting.document import Contribution, Section
from waitbench.reporting.progress import RunProgress
from waitbench.system import tasks


@dataclass(frozen=True)
class WhyExtension(Extension):
    """Explains the difference between revisions by their threads."""

    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="One extra run of each revision: which thread wakes up, and in which function."
            "\n\nWorks on any worker; docs/why.md says what it takes.",
        ),
    ] = False

    EXAMPLE = (
        "./compare.sh v0.16.0 v0.16.1 -s partitioned-long-input --why   "
        "# who wakes up, and from where"
    )

    def applied_to(self, request: Request) -> Request:
        if self.why and not tasks.is_possible():
            raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")
        return request

    def after_runs(
        self, request: ValidRequest, bench: Bench, folder: Path, progress: RunProgress
    ) -> None:
        for scenario in request.here if self.why else ():
            if samples := _samples(scenario, bench, progress):
                store.write(folder, scenario.name, samples)
            for sample in samples:
                store.write_folded(folder, scenario.name, sample.label, view.folded(sample))

    def contribution(self, folder: Path, records: Sequence[Record]) -> Contribution:
        by_scenario = {it.scenario: store.of(folder, it.scenario) for it in records}
        return Contribution(
            of_scenarios={
                name: Section(title=name, tables=view.tables(name, whys), flames=view.flames(whys))
                for name, whys in by_scenario.items()
                if whys
            },
            explains=("--why", "which thread wakes up, and in which function"),
        )

    def files(self, folder: Path) -> Sequence[Path]:
        return store.paths(folder)


def _samples(scenario: Scenario, bench: Bench, progress: RunProgress) -> list[Why]:
    """Samples one more run of each revision that can run the scenario."""
    samples = []
    for label in bench.environments:
        if bench.what_is_missing(scenario, label) is not None:
            continue
        progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
        try:
            samples.append(recording.record(scenario, label, bench))
        except HarnessError as error:
            progress.say(f"{label}: not looked at: {str(error).splitlines()[0]}")
    return samples
