"""Family ``scoring``: workers that wait for a model, in their own process or behind a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule
from waitbench.families.scoring.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.scoring import tables

    return tables.tables(contents.records)


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.scoring import charts

    return charts.figures(contents.records)


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures)
