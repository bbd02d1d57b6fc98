"""``compare --scan``: measures scenarios at several values of a parameter."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from msgspec import structs

from waitbench.features.scan import view
from waitbench.features.scan.curves import FEWEST, scans
from waitbench.model.errors import UsageError
from waitbench.model.record import ScenarioResults
from waitbench.model.scenario import CurvePoint, Scenario
from waitbench.pipeline.extension import Extension, Select
from waitbench.pipeline.request import Request, topology_of
from waitbench.reporting.document import Contribution, Section

TOPOLOGY = ("processes", "workers")
"""Parameters of the topology. All others belong to a scenario."""
_SCAN = re.compile(r"(?P<name>[a-z][a-z0-9_]*)=(?P<values>.+)")
_RANGE = re.compile(r"(?P<low>\d{1,9}):(?P<high>\d{1,9})")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
_EXAMPLE = "such as --scan partitions=1:4096 (1, 2, 4, 8 …), or --scan partitions=1,16,256"
_MOST_VALUES = 64


@dataclass(frozen=True)
class ScanExtension(Extension):
    """Selects scenarios for each value, and adds curves of their costs to the report."""

    scan: Annotated[
        Optional[str],
        typer.Option(
            "--scan",
            metavar="NAME=LOW:HIGH",
            help="Measure at several values of a parameter.\n\n"
            "LOW doubled up to HIGH, or a list A,B,C. The parameter is a number that --set takes; "
            "processes; workers; or a placeholder of a worker file, with a default in its "
            "[parameters].",
        ),
    ] = None

    EXAMPLE = (
        "./compare.sh v0.18.2 v0.21.1 --scan partitions=1:4096      "
        "# what does each further input cost?"
    )

    @property
    def survey_option(self) -> str | None:
        return None if self.scan is None else "--scan"

    def scenarios(self, request: Request, select: Select) -> tuple[Scenario, ...]:
        if self.scan is None:
            return select(request)
        scan = Scan.parse(self.scan)
        by_value = [scan.scenarios_at(value, request, select) for value in scan.values]
        return tuple(chain.from_iterable(zip(*by_value, strict=True)))

    def contribution(self, folder: Path, records: Sequence[ScenarioResults]) -> Contribution:
        curves_of_scans = scans(records)
        tables = [(it, view.table(it)) for it in curves_of_scans]
        return Contribution(
            notes=[*view.headlines(curves_of_scans)],
            sections=[Section(title=view.title(it), tables=[table]) for it, table in tables],
            charts={
                f"{it.scenario}-{it.parameter}-scan": table
                for it, table in tables
                if any(curve.costs for curve in it.curves)
            },
            json={"scans": [asdict(it) for it in curves_of_scans]},
        )


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A parameter and its ascending values."""

    parameter: str
    values: tuple[int | float, ...]

    @classmethod
    def parse(cls, text: str) -> "Scan":
        """Reads ``NAME=LOW:HIGH``, doubled up to HIGH, or ``NAME=A,B,C``. Raises ``UsageError``."""
        match = _SCAN.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"--scan {text!r} is not NAME=VALUES, {_EXAMPLE}.")
        values = sorted(_values(match["values"], text))
        if len(values) < FEWEST or len(values) > _MOST_VALUES:
            raise UsageError(
                f"--scan {text!r} has {len(values)} values: a curve takes {FEWEST} to "
                f"{_MOST_VALUES}, {_EXAMPLE}."
            )
        if len(set(values)) < len(values):
            raise UsageError(f"--scan {text!r} names a value twice.")
        if match["name"] in TOPOLOGY and not all(isinstance(value, int) for value in values):
            raise UsageError(f"--scan {text!r}: {match['name']} are whole numbers.")
        return cls(parameter=match["name"], values=tuple(values))

    def scenarios_at(self, value: int | float, request: Request, select: Select) -> list[Scenario]:
        """Selects the scenarios with the parameter, and sets it. Raises ``UsageError``."""
        at_value = self._with_value(value, request)
        topology = topology_of(at_value) if self.parameter in TOPOLOGY else None
        return [
            structs.replace(
                scenario,
                name=f"{scenario.name}@{self.parameter}={value}",
                scan=CurvePoint(scenario=scenario.name, parameter=self.parameter, value=value),
                topology=topology or scenario.topology,
            )
            for scenario in select(at_value)
            if self.parameter in (*TOPOLOGY, *scenario.settable)
        ]

    def _with_value(self, value: int | float, request: Request) -> Request:
        changes: dict[str, Any] = {}
        if not (request.scenarios or request.worker):
            changes["scenarios"] = ("partitioned-idle",)
        if self.parameter in TOPOLOGY:
            changes[self.parameter] = value
        else:
            changes["settings"] = (*request.settings, f"{self.parameter}={value}")
        return replace(request, **changes)


def _values(text: str, whole: str) -> list[int | float]:
    doubling = _RANGE.fullmatch(text)
    if doubling is not None:
        low, high = int(doubling["low"]), int(doubling["high"])
        if not 0 < low < high:
            raise UsageError(
                f"--scan {whole!r}: the first value must be above zero, and below the last."
            )
        doubled = [low]
        while doubled[-1] * 2 < high:
            doubled.append(doubled[-1] * 2)
        return [*doubled, high]
    numbers = [part.strip() for part in text.split(",")]
    wrong = [part for part in numbers if not _NUMBER.fullmatch(part) or not float(part) > 0]
    if wrong:
        raise UsageError(f"--scan {whole!r}: {wrong[0]!r} is not a number above zero, {_EXAMPLE}.")
    return [float(part) if "." in part else int(part) for part in numbers]
