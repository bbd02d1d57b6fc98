"""The families of workloads: one folder each, and the only list of them.

A family's folder holds everything of its own: scenarios, metrics, services, tables and
charts. Whoever wants any of that asks here, and need not know which families there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from waitbench.families import input as input_families
from waitbench.families import worker
from waitbench.families.base import FamilyModule
from waitbench.model import metrics
from waitbench.model.metrics import Metric
from waitbench.model.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents

_FAMILIES = (input_families,)
_MODULES: tuple[FamilyModule, ...] = tuple(family.MODULE for family in _FAMILIES)

ALL: tuple[Scenario, ...] = tuple(s for module in _MODULES for s in module.scenarios)
"""Every scenario there is, in the order in which they run."""

METRICS: tuple[Metric, ...] = tuple(
    dict.fromkeys(
        (
            *metrics.METRICS,
            *(m for s in ALL for m in s.family.metrics),
            *worker.METRICS,
            *worker.UNTIL_EXIT,
        )
    )
)
"""Everything that a run of any scenario may give: what all have, then what only a family has."""


def tables(contents: Contents) -> list[Table]:
    """The tables of every family that has left anything in a results folder."""
    return [t for module in _MODULES for t in module.tables(_of_module(contents, module))]


def figures(contents: Contents) -> Mapping[str, Figure]:
    """The charts of every family that has left anything in a results folder, by file name."""
    return {
        name: figure
        for module in _MODULES
        for name, figure in module.figures(_of_module(contents, module)).items()
    }


def _of_module(contents: Contents, module: FamilyModule) -> Contents:
    names = {scenario.family.name for scenario in module.scenarios}
    return replace(contents, records=tuple(r for r in contents.records if r.family in names))
