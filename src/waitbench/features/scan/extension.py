"""``compare --scan``: each scenario at several values of a parameter."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.features.scan import view
from waitbench.features.scan.curves import scans
from waitbench.features.scan.scan import Scan
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.pipeline.extension import Extension, Select
from waitbench.pipeline.request import Request
from waitbench.reporting.document import Contribution, Section


@dataclass(frozen=True)
class ScanExtension(Extension):
    """Selects scenarios once for each value, and draws curves through their costs."""

    scan: Annotated[
        Optional[str],
        typer.Option(
            "--scan",
            metavar="NAME=LOW:HIGH",
            help="Measure at several values of a parameter: LOW doubled up to HIGH, or a list "
            "A,B,C.\n\nThe parameter is a number that --set takes; processes; workers; a "
            "placeholder of a worker file, with a default in its [parameters], or of the call of "
            "--dataflow; or silence, the seconds before a worker file's poke.",
        ),
    ] = None

    EXAMPLE = (
        "./compare.sh v0.18.2 v0.21.1 --scan partitions=1:4096      "
        "# what does each further input cost?"
    )

    @property
    def is_survey(self) -> bool:
        return self.scan is not None

    def scenarios(self, request: Request, select: Select) -> tuple[Scenario, ...]:
        if self.scan is None:
            return select(request)
        if not request.shard.is_whole:
            raise UsageError("--shard: a curve is of one machine; leave out --scan, or --shard.")
        scan = Scan.parse(self.scan)
        by_value = [scan.scenarios_at(value, request, select) for value in scan.values]
        return tuple(chain.from_iterable(zip(*by_value, strict=True)))

    def contribution(self, folder: Path, records: Sequence[Record]) -> Contribution:
        scanned = scans(records)
        tables = [view.table(it) for it in scanned]
        return Contribution(
            notes=[*view.headlines(scanned)],
            sections=[
                Section(title=view.title(it), tables=[table])
                for it, table in zip(scanned, tables, strict=True)
            ],
            charts={
                f"{it.scenario}-{it.parameter}-scan": table
                for it, table in zip(scanned, tables, strict=True)
                if any(curve.costs for curve in it.curves)
            },
            json={"scans": [asdict(it) for it in scanned]},
        )
