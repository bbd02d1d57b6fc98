"""Records -> the calls of each revision, by transport."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from waitbench.model.record import Record
from waitbench.model.run import Measurement

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
