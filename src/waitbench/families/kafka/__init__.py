"""Family ``kafka``: workers that wait for the messages of a real broker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule
from waitbench.families.kafka.scenarios import SCENARIOS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.kafka import tables
    from waitbench.families.kafka.tables import SIDE_BY_SIDE
    from waitbench.reporting import side_by_side

    return [*tables.tables(contents.records), *side_by_side.tables(contents, SIDE_BY_SIDE)]


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.kafka.tables import SIDE_BY_SIDE
    from waitbench.reporting.charts import plane

    return plane.figures(contents, SIDE_BY_SIDE)


def _missing_prerequisite(services: Path) -> str | None:
    from waitbench.families.kafka import broker
    from waitbench.families.kafka.scenarios import BROKER_VARIABLE

    return None if os.environ.get(BROKER_VARIABLE) else broker.missing_prerequisite(services)


MODULE = FamilyModule(
    scenarios=SCENARIOS,
    tables=_tables,
    figures=_figures,
    missing_prerequisite=_missing_prerequisite,
)
