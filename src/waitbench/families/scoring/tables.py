"""How long a call takes, how many lines it gets, and what it costs, by transport."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from waitbench.model.metrics import quantile
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING, Statistic, format_statistic

_OBSERVED = {"taken_s", "lines"}
"""What a sample says of a call; another is not of a call."""


@dataclass(frozen=True)
class TransportCalls:
    """What one revision's calls by one transport came to."""

    transport: str
    limit_ms: float
    """How long a call may take."""
    runs: Sequence[Measurement]

    def values(self, name: str) -> list[float]:
        """What was observed of each call under a name, such as ``taken_s`` or ``lines``."""
        return [call[name] for run in self.runs for call in run.samples if call.keys() >= _OBSERVED]

    def mean_of_runs(self, key: str) -> float:
        """The mean of a metric over the runs that have it; 0 where none has."""
        values = [run.metrics[key] for run in self.runs if key in run.metrics]
        return fmean(values) if values else 0.0


def by_revision(records: Sequence[Record]) -> list[tuple[str, tuple[TransportCalls, ...]]]:
    """Each revision's label, and its calls by every transport by which it made any."""
    labels = records[0].context.labels if records else ()
    found = [(label, tuple(_calls(label, records))) for label in labels]
    return [(label, calls) for label, calls in found if calls]


def _calls(label: str, records: Sequence[Record]) -> list[TransportCalls]:
    return [
        TransportCalls(str(record.parameters.get("transport")), _limit_ms(record), record.of(label))
        for record in records
        if any(call.keys() >= _OBSERVED for run in record.of(label) for call in run.samples)
    ]


def _limit_ms(record: Record) -> float:
    limit_ms = record.parameters.get("timeout_ms")
    return limit_ms if isinstance(limit_ms, (int, float)) else math.nan


_STATISTICS: dict[str, Statistic] = {
    "mean": fmean,
    "min": min,
    "25%": lambda values: quantile(values, 0.25),
    "50%": lambda values: quantile(values, 0.50),
    "75%": lambda values: quantile(values, 0.75),
    "90%": lambda values: quantile(values, 0.90),
    "99%": lambda values: quantile(values, 0.99),
    "max": max,
}
"""The rows of the published tables."""
_CPU = {
    "worker, user": "call_user",
    "worker, system": "call_system",
    "model, user": "call_model_user",
    "model, system": "call_model_system",
}
_PUBLISHED_LINES = {
    "inprocess": 239.461 / 1033.7,
    "nonblocking-spin": 911.89 / 1033.7,
}
"""Lines per call relative to a blocking pipe, as published by subwabbit.

Its documentation, "Throughput vs. latency".
"""


def tables(records: Sequence[Record]) -> list[Table]:
    """For each revision: time taken, lines per call, CPU per call."""
    return [
        table
        for label, calls in by_revision(records)
        for table in (_times(label, calls), _lines(label, calls), _costs(label, calls))
    ]


def _times(label: str, calls: Sequence[TransportCalls]) -> Table:
    limits = " and ".join(f"{limit:g}" for limit in sorted({each.limit_ms for each in calls}))
    counts = ", ".join(f"{len(each.values('taken_s')):,}" for each in calls)
    times_ms = [[taken_s * 1000 for taken_s in each.values("taken_s")] for each in calls]
    return Table(
        f"scoring · {label} · time taken by a call, ms (limit {limits} ms)",
        _header(calls),
        _described(times_ms, "{:.3f}"),
        (f"Calls: {counts}.",),
    )


def _lines(label: str, calls: Sequence[TransportCalls]) -> Table:
    lines = [each.values("lines") for each in calls]
    without = ", ".join(
        f"{each.transport}: {counts.count(0)}"
        for each, counts in zip(calls, lines, strict=True)
        if 0 in counts
    )
    return Table(
        f"scoring · {label} · lines per call",
        _header(calls),
        (*_described(lines, "{:,.0f}"), *_relative(calls)),
        (f"Calls without a line: {without or 'none'}.",),
    )


def _costs(label: str, calls: Sequence[TransportCalls]) -> Table:
    return Table(
        f"scoring · {label} · CPU time of a call, ms",
        _header(calls),
        tuple(
            (name, *(f"{each.mean_of_runs(key) * 1000:.3f}" for each in calls))
            for name, key in _CPU.items()
        ),
    )


def _header(calls: Sequence[TransportCalls]) -> tuple[str, ...]:
    return ("", *(each.transport for each in calls))


def _described(columns: Sequence[Sequence[float]], form: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        format_statistic(name, columns, statistic, form) for name, statistic in _STATISTICS.items()
    )


def _relative(calls: Sequence[TransportCalls]) -> tuple[tuple[str, ...], ...]:
    """Mean lines relative to a blocking pipe: here, and as published."""
    base = next((fmean(c.values("lines")) for c in calls if c.transport == "blocking"), 0.0)
    if not base:
        return ()
    here = (f"{fmean(each.values('lines')) / base:.3f}" for each in calls)
    published = (_published(each.transport) for each in calls)
    return (("mean / blocking", *here), ("… as published", *published))


def _published(transport: str) -> str:
    if transport == "blocking":
        return "1"
    return f"{_PUBLISHED_LINES[transport]:.3f}" if transport in _PUBLISHED_LINES else NOTHING
