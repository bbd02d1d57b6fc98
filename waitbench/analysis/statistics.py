"""Measurements -> a Comparison: estimates and paired ratios with intervals, and what they mean.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the geometric mean of the ratios
within each round: pairing within rounds removes what the machine did to both. Intervals are Student's t, for ratios on their
logarithms: exact if those are normal, and honest about how few rounds there are.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from scipy import stats

from waitbench.model.metrics import BY_NAME, Metric
from waitbench.store.results import Record

CONFIDENCE = 0.95
MARGIN = 0.05
"""Ratios within 1 / 1.05 … 1.05 count as the same. The check has margins of its own: see gate.py."""


class Verdict(str, Enum):
    """What an interval of a ratio says."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval; ``low`` and ``high`` are ``None`` below two runs."""

    value: float
    low: float | None
    high: float | None
    count: int

    @property
    def verdict(self) -> Verdict:
        """For a ratio to the baseline."""
        if self.low is None or self.high is None:
            return Verdict.UNCLEAR
        if self.low >= 1 / (1 + MARGIN) and self.high <= 1 + MARGIN:
            return Verdict.SAME
        if self.high < 1:
            return Verdict.FASTER
        return Verdict.SLOWER if self.low > 1 else Verdict.UNCLEAR


@dataclass(frozen=True)
class Row:
    """One revision in one scenario."""

    label: str
    estimates: Mapping[str, Estimate]
    """By the metric's name; empty where no run gave a measurement."""
    ratios: Mapping[str, Estimate]
    """To the baseline; empty for the baseline itself, and where the two share no round."""
    failures: Mapping[str, int]
    """Number of runs without a measurement, by reason."""
    marks: Mapping[str, int]
    """Number of runs that count but are odd, by mark."""
    identical_to: str | None
    """An earlier revision with the same compiled extensions."""
    launcher_cpu_s: float | None
    """What bytewax's own launcher would have added, where it was asked for."""

    @property
    def moved_to_system(self) -> bool:
        """System time rose while total CPU fell: a spin that became sleep is not a regression."""
        system, cpu = self.ratios.get("system"), self.ratios.get("cpu")
        return bool(system and cpu and system.verdict is Verdict.SLOWER and cpu.verdict is Verdict.FASTER)


@dataclass(frozen=True)
class Comparison:
    """All revisions in one scenario."""

    scenario: str
    topology: str
    mixed_origins: bool
    waits: bool
    """Whether there was anything to wait for: items due over time, or silence."""
    rows: tuple[Row, ...]
    """The baseline first."""


def compare(record: Record, metrics: Sequence[Metric] = tuple(BY_NAME.values())) -> Comparison:
    """Compares every revision of a scenario with the first."""
    labels = record.context.labels
    rows = tuple(_row(label, labels[0], record, metrics) for label in labels)
    context = record.context
    return Comparison(
        record.scenario,
        context.topology,
        context.mixed_origins,
        any(record.parameters.get(name) for name in ("long_input", "idle")),
        rows,
    )


def paired(record: Record, label: str, metric: Metric) -> list[tuple[float, float]]:
    """``(baseline, candidate)`` of each round that both have, in order of rounds."""
    baseline = {run.round: run.metrics for run in record.of(record.context.labels[0])}
    return [
        (baseline[run.round][metric.key], run.metrics[metric.key])
        for run in record.of(label)
        if metric.key in run.metrics and metric.key in baseline.get(run.round, {})
    ]


def mean(values: Sequence[float]) -> Estimate:
    """The mean of values that cannot be negative, with its t interval."""
    centre = math.fsum(values) / len(values)
    half = _half_width(values)
    return Estimate(
        centre, None if half is None else max(0.0, centre - half), None if half is None else centre + half, len(values)
    )


def log_ratios(pairs: Sequence[tuple[float, float]], metric: Metric) -> list[float]:
    """The logarithm of candidate to baseline for each pair; see ``Metric.floor`` for what is next to nothing."""
    return [math.log(max(ours, metric.floor) / max(theirs, metric.floor)) for theirs, ours in pairs]


def geometric_mean(logs: Sequence[float]) -> Estimate:
    """The geometric mean of ratios, given as logarithms, with its t interval on these."""
    centre = math.fsum(logs) / len(logs)
    half = _half_width(logs)
    low, high = (None, None) if half is None else (math.exp(centre - half), math.exp(centre + half))
    return Estimate(math.exp(centre), low, high, len(logs))


def _half_width(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    return float(stats.sem(values)) * float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))


def _row(label: str, baseline: str, record: Record, metrics: Sequence[Metric]) -> Row:
    runs = record.of(label)
    estimates, ratios = {}, {}
    for metric in metrics:
        values = [run.metrics[metric.key] for run in runs if metric.key in run.metrics]
        if values:
            estimates[metric.name] = mean(values)
        pairs = paired(record, label, metric)
        if pairs and label != baseline:
            ratios[metric.name] = geometric_mean(log_ratios(pairs, metric))
    failures = Counter(outcome.reason for outcome in record.outcomes if outcome.label == label)
    marks = Counter(mark for run in runs for mark in run.marks)
    return Row(label, estimates, ratios, failures, marks, _identical(label, record), record.launcher_cpu_s.get(label))


def _identical(label: str, record: Record) -> str | None:
    extensions = {str(r["label"]): r.get("extensions") for r in record.context.revisions}
    for earlier, hashes in extensions.items():
        if earlier == label:
            return None
        if hashes and hashes == extensions[label]:
            return earlier
    return None
