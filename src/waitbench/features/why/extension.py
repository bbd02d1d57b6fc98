"""``compare --why``: one more run of each revision, of which stacks are sampled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from waitbench.execution.bench import Bench
from waitbench.features.why import recording, samples, view
from waitbench.features.why.samples import SUFFIX, Samples
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.pipeline.extension import Extension
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.reporting.document import Contribution, Section
from waitbench.reporting.output import RunProgress
from waitbench.system import proc
from waitbench.system.files import write_text

_TITLE = "who wakes up while it waits, and from where · one extra run each"
_FOLDED = ".folded"
_LONGEST = 100
"""Characters of a label in a file's name: the last of a path tell most."""


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
        if self.why and not proc.has_schedstat():
            raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")
        return request

    def after_runs(
        self, request: ValidRequest, bench: Bench, folder: Path, progress: RunProgress
    ) -> None:
        for scenario in request.here if self.why else ():
            if revisions := _sampled(scenario, bench, progress):
                samples.write(folder, scenario.name, revisions)
            for revision in revisions:
                label = re.sub(r"[^\w.+-]+", "-", revision.label)[-_LONGEST:]
                for unit, text in view.folded(revision).items():
                    path = folder / f"{scenario.name}.{label}.{unit}{_FOLDED}"
                    if text:
                        write_text(path, text)

    def contribution(self, folder: Path, records: Sequence[Record]) -> Contribution:
        by_scenario = {it.scenario: samples.read(folder, it.scenario) for it in records}
        return Contribution(
            of_scenarios={
                name: Section(
                    title=name,
                    tables=view.tables(f"{name} · {_TITLE}", revisions),
                    flames=view.flames(revisions),
                )
                for name, revisions in by_scenario.items()
                if revisions
            },
            explains=("--why", "which thread wakes up, and in which function"),
        )

    def files(self, folder: Path) -> Sequence[Path]:
        return sorted((*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{_FOLDED}")))


def _sampled(scenario: Scenario, bench: Bench, progress: RunProgress) -> list[Samples]:
    """Samples one more run of each revision that can run the scenario."""
    revisions = []
    for label in bench.environments:
        if bench.what_is_missing(scenario, label) is not None:
            continue
        progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
        try:
            revisions.append(recording.record(scenario, label, bench))
        except HarnessError as error:
            progress.say(f"{label}: not looked at: {str(error).splitlines()[0]}")
    return revisions
