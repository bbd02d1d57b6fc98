"""Families ``partitioned`` and ``dynamic``: workers that wait for their input.

The core of this project. Engines are set side by side by what their workers do here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule
from waitbench.families.input.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.input.side_by_side import SIDE_BY_SIDE
    from waitbench.reporting import side_by_side

    return side_by_side.tables(contents, SIDE_BY_SIDE)


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.input.side_by_side import SIDE_BY_SIDE
    from waitbench.reporting.charts import plane

    return plane.figures(contents, SIDE_BY_SIDE)


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures)
