"""Measurements -> a Comparison: estimates and paired ratios with intervals, and what they mean.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the
geometric mean of the ratios within each round: pairing within rounds removes what the machine did
to both. Intervals are Student's t, for ratios on their logarithms: exact if those are normal, and
honest about how few rounds there are.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import stdev

from waitbench.analysis.builds import identical_to, other_packages
from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.rounds import all_rounds, kept, paired_by_round, shared_rounds
from waitbench.model.metrics import BY_NAME, METRICS, Metric
from waitbench.model.record import Record
from waitbench.model.run import NOT_SUPPORTED

CONFIDENCE = 0.95
MARGIN = 0.05
"""Ratios within 1 / 1.05 … 1.05 count as the same. The gate has margins of its own."""


class Verdict(str, Enum):
    """What an interval of a ratio says."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"
    NOT_MEASURED = "not measured"
    """There was nothing to judge, as runs failed: only a gate says so."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval; ``low`` and ``high`` are ``None`` below two runs."""

    value: float
    low: float | None
    high: float | None
    count: int

    @property
    def verdict(self) -> Verdict:
        """What a ratio to the baseline says."""
        if self.low is None or self.high is None:
            return Verdict.UNCLEAR
        if self.low >= 1 / (1 + MARGIN) and self.high <= 1 + MARGIN:
            return Verdict.SAME
        if self.high < 1:
            return Verdict.FASTER
        return Verdict.SLOWER if self.low > 1 else Verdict.UNCLEAR


@dataclass(frozen=True, kw_only=True)
class Row:
    """One revision in one scenario."""

    label: str
    runs: tuple[Mapping[str, float], ...]
    """What each run gave, by the metric's name; in order of the rounds that all revisions share.

    Empty where fewer than half of the rounds have a measurement.
    """
    measured: int
    """Rounds with a measurement, shared or not."""
    estimates: Mapping[str, Estimate]
    """By the metric's name, of the rounds that all revisions share; empty where there is none."""
    ratios: Mapping[str, Estimate]
    """To the baseline; empty for the baseline itself, and where the two share no round."""
    failures: Mapping[str, int]
    """Number of runs without a measurement, by reason."""
    marks: Mapping[str, int]
    """Number of runs that count but are odd, by mark."""
    unsupported: str | None
    """Why this revision cannot run the scenario, where it cannot."""
    identical_to: str | None
    """An earlier revision with the same compiled extensions."""
    launcher_cpu_s: float | None
    """What the engine's own launcher would have added, where it was asked for."""

    def values(self, name: str) -> tuple[float, ...]:
        """What the runs that have this metric gave, in order of rounds."""
        return tuple(run[name] for run in self.runs if name in run)

    @property
    def excused(self) -> tuple[tuple[Metric, Metric], ...]:
        """What explains a cost and rose although that cost fell, each with its cost.

        That is no regression: a spin that became sleep makes more system calls.
        """
        return tuple(
            (metric, BY_NAME[metric.explains])
            for metric in METRICS
            if metric.explains is not None
            and self._says(metric.name, Verdict.SLOWER)
            and self._says(metric.explains, Verdict.FASTER)
        )

    def _says(self, name: str, verdict: Verdict) -> bool:
        return name in self.ratios and self.ratios[name].verdict is verdict


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All revisions in one scenario."""

    scenario: str
    topology: str
    mixed_origins: bool
    other_packages: tuple[str, ...]
    """Packages besides the engine that are not of one version in all revisions, with these."""
    waits: bool
    """Whether there was anything to wait for: items due over time, or silence."""
    steady_compares: bool
    """Whether the steady phases of all revisions hold the same work.

    An engine may read everything first, and work behind the end of its input.
    """
    metrics: tuple[Metric, ...]
    """Everything that the rows may hold."""
    rows: tuple[Row, ...]
    """The baseline first."""
    left_out: int
    """Rounds that no figure is of, as not every revision with figures has a measurement there."""
    disturbed: int
    """Rounds that count although the machine did something else in every attempt."""

    @property
    def baseline(self) -> Row:
        return self.rows[0]

    @property
    def rounds(self) -> int:
        """Those that every figure is of, as far as the runs have it."""
        counts = (estimate.count for row in self.rows for estimate in row.estimates.values())
        return max(counts, default=0)


def compare(record: Record) -> Comparison:
    """Compares every revision of a scenario with the first."""
    context = record.context
    return Comparison(
        scenario=record.scenario,
        topology=context.topology,
        mixed_origins=context.mixed_origins,
        other_packages=other_packages(context),
        waits=record.waits,
        steady_compares=len(context.engines) < 2 or record.mostly_waits,
        metrics=record.metrics,
        rows=tuple(_row(label, record) for label in context.labels),
        left_out=len(all_rounds(record)) - len(shared_rounds(record)),
        disturbed=len(record.disturbed_rounds & shared_rounds(record)),
    )


def mean(values: Sequence[float]) -> Estimate:
    """The mean of values that cannot be negative, with its t interval."""
    centre = math.fsum(values) / len(values)
    half = _half_width(values)
    if half is None:
        return Estimate(centre, None, None, len(values))
    return Estimate(centre, max(0.0, centre - half), centre + half, len(values))


def log_ratios(pairs: Sequence[tuple[float, float]], metric: Metric) -> list[float]:
    """The logarithm of candidate to baseline for each pair.

    What is next to nothing counts as ``Metric.floor``.
    """
    return [math.log(max(ours, metric.floor) / max(theirs, metric.floor)) for theirs, ours in pairs]


def geometric_mean(logs: Sequence[float]) -> Estimate:
    """The geometric mean of ratios, given as logarithms, with its t interval on these."""
    centre = math.fsum(logs) / len(logs)
    half = _half_width(logs)
    if half is None:
        return Estimate(math.exp(centre), None, None, len(logs))
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), len(logs))


def _half_width(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    standard_error = stdev(values) / math.sqrt(len(values))
    return standard_error * t_quantile((1 + CONFIDENCE) / 2, len(values) - 1)


def _row(label: str, record: Record) -> Row:
    shared = shared_rounds(record)
    measured = record.of(label)
    runs = [run for run in measured if run.round in shared] if label in kept(record) else []
    estimates, ratios = {}, {}
    for metric in record.metrics:
        of_metric = shared_rounds(record, metric.key)
        values = [
            run.metrics[metric.key]
            for run in runs
            if metric.key in run.metrics and run.round in of_metric
        ]
        if values:
            estimates[metric.name] = mean(values)
        if runs and label != record.context.labels[0]:
            by_round = paired_by_round(record, label, metric)
            pairs = [pair for number, pair in by_round.items() if number in shared & of_metric]
            if pairs:
                ratios[metric.name] = geometric_mean(log_ratios(pairs, metric))
    outcomes = [outcome for outcome in record.outcomes if outcome.label == label]
    reasons = {outcome.reason: outcome.message for outcome in outcomes}
    return Row(
        label=label,
        measured=len(measured),
        runs=tuple(
            {m.name: run.metrics[m.key] for m in record.metrics if m.key in run.metrics}
            for run in runs
        ),
        estimates=estimates,
        ratios=ratios,
        failures=Counter(outcome.reason for outcome in outcomes),
        marks=Counter(mark for run in runs for mark in run.marks),
        unsupported=reasons.get(NOT_SUPPORTED),
        identical_to=identical_to(label, record.context),
        launcher_cpu_s=record.launcher_cpu_s.get(label),
    )
