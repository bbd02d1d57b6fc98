"""The records of a scan -> a curve of each revision: what it costs at each value, and its line.

C is what a worker costs, R what each further input adds, both from the same rounds: those in which
a revision has a measurement at every value that it has any at. See line.py for the fit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from waitbench.analysis.line import FEWEST, Line, Misfit, fit, misfit
from waitbench.analysis.rounds import by_round, mostly_disturbed
from waitbench.analysis.statistics import Estimate, geometric_mean, mean
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record

COST = BY_NAME["share"]
"""What a curve is of: CPU seconds per second of waiting, so that windows may differ."""
_LEAST_SLOPE = 1e-9
"""Cores an input, below which a slope counts as none, as next to nothing does in ratios."""


@dataclass(frozen=True, kw_only=True)
class PointOfCurve:
    """What a revision costs at one value."""

    value: float
    runs: tuple[float, ...]
    """The cores of each run."""
    cost: Estimate | None
    """Their mean; ``None`` where it was not measured."""
    failure: str
    """Why there is no measurement, where there is none."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One revision over all values."""

    label: str
    points: tuple[PointOfCurve, ...]
    lines: Mapping[int, Line] = field(default_factory=dict)
    """The line of each round, by its number; none where no line fits, or it is not known."""
    misfit: Misfit | None = None
    """Where the costs are off a line, if they are on none."""
    slope_ratio: Estimate | None = None
    """To the baseline's R."""

    @property
    def measured(self) -> tuple[PointOfCurve, ...]:
        """The points with a measurement: a misfit counts places in these."""
        return tuple(point for point in self.points if point.cost is not None)

    @property
    def constant(self) -> Estimate | None:
        """C, in cores."""
        return _mean([line.constant for line in self.lines.values()])

    @property
    def slope(self) -> Estimate | None:
        """R, in cores an input."""
        return _mean([line.slope for line in self.lines.values()])


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """All revisions over all values of one scan."""

    scenario: str
    parameter: str
    values: tuple[float, ...]
    rounds: int
    curves: tuple[Curve, ...]
    """The baseline first."""
    is_disturbed: bool
    """Whether other programs used the machine in most rounds."""


def scans(records: Iterable[Record]) -> list[Scanned]:
    """Every scan among the records of a comparison."""
    having = [(one.scan.curve, one) for one in records if one.scan is not None]
    return [
        _scanned(sorted((one for of, one in having if of == curve), key=_value))
        for curve in dict.fromkeys(curve for curve, _ in having)
    ]


def slopes_by_round(
    records: Sequence[Record], labels: Sequence[str], metric: Metric
) -> dict[int, tuple[float, ...]]:
    """R of each of some revisions in the rounds that all have at all values, by number.

    What adds less than the metric's floor over all values counts as that. Nothing where there are
    too few values for a line.
    """
    ordered = sorted(records, key=_value)
    values = [_value(record) for record in ordered]
    if len(values) < FEWEST:
        return {}
    of_each = [by_round([(one, label) for one in ordered], metric) for label in labels]
    least = max(metric.floor / values[-1], _LEAST_SLOPE)
    return {
        number: tuple(max(fit(values, of[number]).slope, least) for of in of_each)
        for number in sorted(set(of_each[0]).intersection(*of_each[1:]))
    }


def _scanned(records: Sequence[Record]) -> Scanned:
    point, context = records[0].scan, records[0].context
    assert point is not None, "it is of a scan"
    rounds = [len({run.round for run in record.measurements}) for record in records]
    disturbed = sum(len(record.disturbed_rounds) for record in records)
    baseline, *candidates = (_curve(label, records) for label in context.labels)
    return Scanned(
        scenario=point.scenario,
        parameter=point.parameter,
        values=tuple(map(_value, records)),
        rounds=max(rounds),
        curves=(
            baseline,
            *(replace(one, slope_ratio=_slope_ratio(baseline, one)) for one in candidates),
        ),
        is_disturbed=mostly_disturbed(disturbed, sum(rounds)),
    )


def _curve(label: str, records: Sequence[Record]) -> Curve:
    curve = Curve(label=label, points=tuple(_point(label, record) for record in records))
    values = [point.value for point in curve.measured]
    rounds = by_round([(one, label) for one in records if _value(one) in values], COST)
    if len(values) < FEWEST or not rounds:
        return curve
    off = misfit(values, list(rounds.values()))
    if off is not None:
        return replace(curve, misfit=off)
    return replace(curve, lines={number: fit(values, one) for number, one in rounds.items()})


def _point(label: str, record: Record) -> PointOfCurve:
    costs = [run.metrics[COST.key] for run in record.of(label) if COST.key in run.metrics]
    last = next((one for one in reversed(record.outcomes) if one.label == label), None)
    return PointOfCurve(
        value=_value(record),
        runs=tuple(costs),
        cost=mean(costs) if costs else None,
        failure="" if costs or last is None else f"{last.reason}: {last.message}",
    )


def _slope_ratio(baseline: Curve, curve: Curve) -> Estimate | None:
    """R to that of the baseline, in the rounds in which both have a line."""
    logs = [
        math.log(max(curve.lines[number].slope, _LEAST_SLOPE) / max(theirs.slope, _LEAST_SLOPE))
        for number, theirs in baseline.lines.items()
        if number in curve.lines
    ]
    return geometric_mean(logs) if logs else None


def _mean(values: Sequence[float]) -> Estimate | None:
    """A mean with its interval, of what may be below zero by chance."""
    if not values:
        return None
    lowest = min(0.0, *values)
    found = mean([value - lowest for value in values])
    if found.high is None:
        return replace(found, value=found.value + lowest)
    half = found.high - found.value
    centre = found.value + lowest
    return replace(found, value=centre, low=centre - half, high=centre + half)


def _value(record: Record) -> float:
    assert record.scan is not None, "it is of a scan"
    return record.scan.value
