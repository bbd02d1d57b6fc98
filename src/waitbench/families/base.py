"""What the folder of a family offers to everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from waitbench.model.scenario import Parameters, Scenario, Topology

if TYPE_CHECKING:
    # Every command imports all families; what only a report needs takes a second to import.
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents


@dataclass(frozen=True, kw_only=True)
class FamilyModule:
    """All that one folder offers. What a function here needs is imported when it is called."""

    scenarios: tuple[Scenario, ...]
    """In the order in which they run."""
    tables: Callable[[Contents], Sequence[Table]] = field(default=lambda _contents: ())
    """What it says of a folder of which it is shown its own records, beyond what all have."""
    figures: Callable[[Contents], Mapping[str, Figure]] = field(default=lambda _contents: {})
    """Its charts of the same, by the name of their file."""


def on_each_reading_worker(parameter: str) -> Callable[[Parameters, Topology], int]:
    """Counts the items of a run in which every worker that reads has ``parameter`` items."""

    def items(parameters: Parameters, topology: Topology) -> int:
        return int(parameters[parameter]) * topology.reading_workers

    return items


def too_many_silent(parameters: Parameters) -> str | None:
    """Why some partitions cannot be silent; ``None`` where they can."""
    silent, partitions = parameters.get("silent", 0), parameters["partitions"]
    if int(silent) <= int(partitions):
        return None
    return f"{silent} of {partitions} partitions cannot be silent"
