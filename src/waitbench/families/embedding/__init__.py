"""Family ``embedding``: workers that wait for a service, perhaps behind a proxy that batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule
from waitbench.families.embedding.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.embedding import kept, tables

    return tables.tables(contents.records, kept.loads(contents))


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.embedding import charts, kept

    return charts.figures(kept.loads(contents))


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures, command="load")
