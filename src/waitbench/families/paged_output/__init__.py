"""Family ``paged-output``: workers that wait for their output device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule
from waitbench.families.paged_output.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.paged_output import kept, tables

    return tables.tables(kept.paging(contents))


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.paged_output import charts, kept

    return charts.figures(kept.paging(contents))


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures, command="paged-output")
