"""Folders of results made by hand, as a page reads them."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zlib import crc32

from msgspec.structs import replace

from tests.gate_runs import counted, waiting, working
from tests.records import contestant, describing, facts, make_record
from waitbench.analysis import gate, history
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.sessions import sessions_of
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.pipeline import paging
from waitbench.reporting.document import Page
from waitbench.reporting.idle import Price
from waitbench.reporting.page import COSTS, Trends
from waitbench.store.comparisons import Contents

_METRICS = (
    "real", "user", "system", "cpu", "steady", "cpu-startup", "cpu-shutdown", "cpu-launcher",
    "share", "polls", "wakeups", "syscalls", "steady-system", "polls-per-item", "latency",
)  # fmt: skip
_FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)


def kept(
    name: str,
    releases: Sequence[str],
    scenarios: Sequence[str] = ("waiting",),
    *,
    rounds: int = 5,
    rise: float = 0.5,
) -> Contents:
    """A comparison of some releases, each of which costs a little more than the one before."""
    revisions = tuple(
        contestant(one, text=one, facts=facts(package_version=one.removeprefix("v")))
        for one in releases
    )
    at = (_FIRST + timedelta(seconds=crc32(name.encode()) % 10**7)).isoformat()
    records = []
    for scenario in scenarios:
        runs = {
            one: [
                {BY_NAME[m].key: 1.0 + rise * place + 0.01 * number for m in _METRICS}
                for number in range(rounds)
            ]
            for place, one in enumerate(releases)
        }
        record = make_record(runs, scenario=scenario, revisions=revisions)
        # Equal runs at the same time would be copies of one session.
        record.measurements[:] = [replace(run, started_at=at) for run in record.measurements]
        records.append(record)
    return contents_of(*records, name=name)


def contents_of(*records: Record, name: str = "made-up", **settings: Any) -> Contents:
    """A folder that holds these."""
    comparison = describing(records, settings)
    return Contents(folder=Path(name), comparison=comparison, records=records)


def page_of(*records: Record, price: Price | None = None, **settings: Any) -> Page:
    """The page of one comparison."""
    return paging.page_of(contents_of(*records, **settings), price)


def trends_of(all_kept: Sequence[Contents]) -> Trends:
    """What they tell together of two costs."""
    told = [
        one
        for each in all_kept
        for one in sessions_of(
            str(each.folder),
            each.comparison,
            each.records,
            [BY_NAME[name] for name in COSTS],
        )
    ]
    anchor = history.commonest(told)
    assert anchor is not None
    return {
        name: history.trends([one for one in told if one.metric == name], anchor) for name in COSTS
    }


def many() -> GateVerdict:
    """The defaults, of eight scenarios with long names."""
    names = ("partitioned-long-input", "dynamic-long-input")
    busy = [f"partitioned-long-input-heavy-map-{number}" for number in range(6)]
    records = [
        *(waiting(name, steady=1.02, steady_system=[0.6, 2.6] * 10) for name in names),
        *(working(counted(name, cpu=0.0625)) for name in busy),
    ]
    return gate.conclude(records, DEFAULTS, 20)
