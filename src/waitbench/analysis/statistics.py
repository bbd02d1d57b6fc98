"""Measurements -> a Comparison: estimates and paired ratios with intervals, and what they mean.

The estimate of a revision is the mean of its runs. The ratio of a candidate to the baseline is the
geometric mean of the ratios within each round: pairing within rounds removes what the machine did
to both. Intervals are Student's t, for ratios on their logarithms: exact if those are normal, and
honest about how few rounds there are.

A verdict is what the interval of its ratio says. Of eight scenarios in which nothing changed, one
in five comparisons would have a scenario whose 95 % interval excludes 1. So the intervals of ratios
share an error of 5 % (Bonferroni), over all scenarios and candidates, and over all metrics that
sentences are about. Each other metric has such an error for itself.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev

from waitbench.analysis.rounds import (
    all_rounds,
    kept,
    mostly_disturbed,
    paired_by_round,
    shared_rounds,
)
from waitbench.analysis.verdicts import Verdict
from waitbench.analysis.window import is_too_short
from waitbench.model.metrics import Metric
from waitbench.model.record import Context, Record
from waitbench.model.run import Outcome

CONFIDENCE = 0.95
ERROR = 0.05
"""The chance that words claim any change where there is none."""
MARGIN = 0.05
"""Ratios within 1 / 1.05 … 1.05 count as the same. The gate has margins of its own."""
WIDEST = 1000.0
"""The factor by which an interval reaches to either side of its ratio at most."""
SPOKEN_OF = ("system", "cpu", "real", "steady", "latency")
"""The metrics that sentences are about."""


@dataclass(frozen=True)
class Estimate:
    """A value with its confidence interval; ``low`` and ``high`` are ``None`` for too few runs."""

    value: float
    low: float | None
    high: float | None
    count: int
    is_bound: bool = False
    """Whether one side of a ratio was next to nothing: it is at least so far from 1."""

    @property
    def verdict(self) -> Verdict:
        """What a ratio to the baseline says."""
        if self.low is None or self.high is None:
            return Verdict.INCONCLUSIVE
        if self.low >= 1 / (1 + MARGIN) and self.high <= 1 + MARGIN:
            return Verdict.WITHIN_MARGIN
        if self.low <= 1 <= self.high:
            return Verdict.INCONCLUSIVE
        return Verdict.FASTER if self.high < 1 else Verdict.SLOWER


@dataclass(frozen=True, kw_only=True)
class Row:
    """One revision in one scenario."""

    label: str
    runs: int
    """How many figures are of: those of the rounds that all revisions share.

    None where fewer than half of the rounds have a measurement.
    """
    measured: int
    """Rounds with a measurement, shared or not."""
    estimates: Mapping[str, Estimate]
    """By the metric's name, of the rounds that all revisions share; empty where there is none."""
    ratios: Mapping[str, Estimate]
    """To the baseline, of what compares: see ``Record.compares``.

    Empty for the baseline itself, and where the two share no round.
    """
    near_floor: frozenset[str]
    """The metrics whose ratio is chance: both sides have runs below what is told apart."""
    failures: Mapping[str, Sequence[Outcome]]
    """What came of runs without a measurement, by reason."""
    marks: Mapping[str, int]
    """Number of runs that count but are odd, by mark."""
    identical_to: str | None
    """An earlier revision whose package is the same, file for file, beside the same packages."""
    is_window_too_short: bool | None = None
    """Whether the wake-ups of the window's halves differ, where they were counted."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All revisions in one scenario."""

    record: Record
    """Its runs, by which revisions may be called otherwise than in the rows."""
    other_packages: tuple[str, ...]
    """Packages besides the engine that are not of one version in all revisions, with these."""
    rows: tuple[Row, ...]
    """The baseline first."""
    left_out: int
    """Rounds that no figure is of, as not every revision with figures has a measurement there."""
    disturbed: int
    """Rounds that count although the machine did something else in every attempt."""

    @property
    def scenario(self) -> str:
        return self.record.scenario

    @property
    def baseline(self) -> Row:
        return self.rows[0]

    @property
    def rounds(self) -> int:
        """Those that every figure is of, as far as the runs have it."""
        counts = (estimate.count for row in self.rows for estimate in row.estimates.values())
        return max(counts, default=0)

    @property
    def is_disturbed(self) -> bool:
        """Whether what it says rests mostly on disturbed rounds."""
        return mostly_disturbed(self.disturbed, self.rounds)


def compare(record: Record, *, scenarios: int = 1) -> Comparison:
    """Compares every revision of a scenario, which is one of so many, with the first."""
    context = record.context
    return Comparison(
        record=record,
        other_packages=other_packages(context),
        rows=tuple(_row(label, record, scenarios) for label in context.labels),
        left_out=len(all_rounds(record)) - len(shared_rounds(record)),
        disturbed=len(record.disturbed_rounds & shared_rounds(record)),
    )


def mean(values: Sequence[float], least: float = 0.0) -> Estimate:
    """The mean with its t interval, of what cannot be less than ``least``."""
    centre, half = _student(values)
    if math.isinf(half):
        return Estimate(centre, None, None, len(values))
    return Estimate(centre, max(least, centre - half), centre + half, len(values))


def log_ratios(pairs: Sequence[tuple[float, float]], floor: float) -> list[float]:
    """The logarithm of candidate to baseline for each pair; what is less counts as the floor."""
    return [math.log(max(ours, floor) / max(theirs, floor)) for theirs, ours in pairs]


def geometric_mean(logs: Sequence[float], error: float = 1 - CONFIDENCE) -> Estimate:
    """The geometric mean of ratios, given as logarithms, with its t interval on these.

    An interval that is wider than ``WIDEST`` says nothing and is left out.
    """
    centre, half = _student(logs, error)
    if half > math.log(WIDEST):
        return Estimate(math.exp(centre), None, None, len(logs))
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), len(logs))


def t_quantile(share: float, freedom: float) -> float:
    """Student's t: the value below which a share lies, with so many degrees of freedom.

    Out of ``scipy.special``: ``scipy.stats`` takes most of a second to import.
    """
    from scipy import special

    return float(special.stdtrit(freedom, share))


def other_packages(context: Context) -> tuple[str, ...]:
    """Packages besides the engine whose versions differ.

    Such as ``jsonpickle 3.0.1 (v0.16.0), 3.0.2 (v0.16.1)``.
    """
    installed = {r.label: r.facts for r in context.revisions if r.facts is not None}
    versions: dict[str, dict[str, list[str]]] = {}
    for label, facts in installed.items():
        for text in facts.requirements:
            name, _, version = text.partition("==")
            versions.setdefault(name, {}).setdefault(version, []).append(label)
    # What is compared is what has each revision's version.
    own_versions: dict[str, list[str]] = {}
    for label, facts in installed.items():
        own_versions.setdefault(facts.package_version, []).append(label)
    return tuple(
        f"{name} " + ", ".join(f"{version} ({', '.join(of)})" for version, of in found.items())
        for name, found in sorted(versions.items())
        if len(found) > 1 and found != own_versions
    )


def _student(values: Sequence[float], error: float = 1 - CONFIDENCE) -> tuple[float, float]:
    """The mean, and half of its t interval; that of one value is infinite."""
    centre = math.fsum(values) / len(values)
    if len(values) < 2:
        return centre, math.inf
    standard_error = stdev(values) / math.sqrt(len(values))
    return centre, standard_error * t_quantile(1 - error / 2, len(values) - 1)


def _ratio(pairs: Sequence[tuple[float, float]], metric: Metric, error: float) -> Estimate:
    """The ratio of a candidate to the baseline, in pairs of the baseline's value and its own."""
    is_little = [math.fsum(side) / len(side) < metric.floor for side in zip(*pairs, strict=True)]
    found = geometric_mean(log_ratios(pairs, metric.floor), error)
    return replace(found, is_bound=is_little[0] != is_little[1])


def _row(label: str, record: Record, scenarios: int) -> Row:
    shared = shared_rounds(record)
    measured = record.of(label)
    runs = [run for run in measured if run.round in shared] if label in kept(record) else []
    is_candidate = bool(runs) and label != record.context.labels[0]
    estimates, ratios, near_floor = {}, {}, set()
    error = ERROR / scenarios / max(1, len(record.context.labels) - 1)
    spoken_of = sum(metric.name in SPOKEN_OF for metric in record.metrics)
    for metric in record.metrics:
        rounds = shared & shared_rounds(record, metric.key)
        of_metric = [run for run in runs if run.round in rounds and metric.key in run.metrics]
        if of_metric:
            estimates[metric.name] = mean([run.metrics[metric.key] for run in of_metric])
        by_round = paired_by_round(record, label, metric) if is_candidate else {}
        pairs = [pair for number, pair in by_round.items() if number in rounds]
        if pairs:
            sharing = spoken_of if metric.name in SPOKEN_OF else 1
            ratios[metric.name] = _ratio(pairs, metric, error / sharing)
            if all(min(side) < metric.floor for side in zip(*pairs, strict=True)):
                near_floor.add(metric.name)
    failures: dict[str, list[Outcome]] = {}
    for outcome in record.outcomes:
        if outcome.label == label:
            failures.setdefault(outcome.reason, []).append(outcome)
    return Row(
        label=label,
        measured=len(measured),
        runs=len(runs),
        estimates=estimates,
        ratios=ratios,
        near_floor=frozenset(near_floor),
        failures=failures,
        marks=Counter(mark for run in runs for mark in run.marks),
        identical_to=_identical_to(label, record.context),
        is_window_too_short=is_too_short([run.samples for run in runs]),
    )


def _identical_to(label: str, context: Context) -> str | None:
    """The first revision before this one with the same package, if it is known."""
    digests = {
        one.label: one.facts.package_sha256
        for one in context.revisions
        if one.facts is not None and one.facts.package_sha256
    }
    earlier = context.labels[: context.labels.index(label)]
    alike = (one for one in earlier if one in digests and digests[one] == digests.get(label))
    return next(alike, None)
