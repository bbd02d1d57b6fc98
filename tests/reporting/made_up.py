"""Folders of results made by hand, as a page reads them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.gate_runs import counted, waiting
from tests.records import describing, released, specify
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict
from waitbench.model.record import ScenarioResults
from waitbench.pipeline import concluding
from waitbench.reporting.document import Report
from waitbench.store.comparisons import StoredComparison

_METRICS = (
    "real", "user", "system", "cpu", "idle", "cpu-startup", "cpu-shutdown", "cpu-launcher",
    "share", "polls", "wakeups", "syscalls", "idle-system", "polls-per-item", "latency",
)  # fmt: skip


def stored(
    name: str,
    releases: Sequence[str],
    scenarios: Sequence[str] = ("waiting",),
    *,
    rounds: int = 5,
    rise: float = 0.5,
) -> StoredComparison:
    """A comparison of some releases, each of which costs a little more than the one before."""
    costs = {release: 1.0 + rise * place for place, release in enumerate(releases)}
    records = (
        released(costs, session=name, scenario=scenario, rounds=rounds, metrics=_METRICS)
        for scenario in scenarios
    )
    return contents_of(*records, name=name)


def contents_of(
    *records: ScenarioResults, name: str = "made-up", **settings: Any
) -> StoredComparison:
    """A folder with these records."""
    comparison = describing(records, settings)
    return StoredComparison(folder=Path(name), comparison=comparison, records=records)


def page_of(*records: ScenarioResults, price: float | None = None, **settings: Any) -> Report:
    """The page of one comparison."""
    return concluding.page_of(contents_of(*records, **settings), price)


def many() -> GateVerdict:
    """The defaults, of eight scenarios with long names."""
    names = ("partitioned-long-input", "dynamic-long-input")
    busy = [f"partitioned-long-input-heavy-map-{number}" for number in range(6)]
    waits = [waiting(name, idle=1.02, idle_system=[0.6, 2.6] * 10) for name in names]
    works = [specify(counted(name, cpu=0.0625), waits=False) for name in busy]
    return gate.conclude([*waits, *works], DEFAULTS)
