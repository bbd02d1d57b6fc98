"""The records of a scan -> a curve of each revision: what it costs at each value, and how it grows.

C is what a worker costs, R what each further input does, both from the same rounds: those in which
a revision has a measurement at every value that it has any at. See growth.py for the fit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from waitbench.analysis.growth import FEWEST, Costs, Growth, Line, growth, line
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.statistics import Estimate, geometric_mean, mean
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.record import Record

COST = BY_NAME["share"]
"""What a curve is of: CPU seconds per second of waiting, so that windows may differ."""
LATENESS = BY_NAME["latency"]
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
    lateness: Estimate | None
    """Seconds at p99, where anything was due."""
    lacks: str
    """Why there is no measurement, where there is none."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One revision over all values."""

    label: str
    points: tuple[PointOfCurve, ...]
    growth: Growth | None = None
    """``None`` where fewer than three values were measured."""
    lines: Mapping[int, Line] = field(default_factory=dict)
    """C and R of each round, by its number; none where no line fits."""
    slope_ratio: Estimate | None = None
    """To the baseline's R."""
    turns_at: float | None = None
    """The value from which on it costs less than the baseline although its R is certainly greater,
    or more although it is smaller: they grow in different ways."""

    @property
    def measured(self) -> tuple[PointOfCurve, ...]:
        """The points with a measurement: what growth counts places in."""
        return tuple(point for point in self.points if point.cost is not None)

    @property
    def tried_on(self) -> tuple[PointOfCurve, ...]:
        """The points that what fits was fitted to."""
        return () if self.growth is None else self.measured[: self.growth.tried]

    @property
    def constant(self) -> Estimate | None:
        """C, in cores."""
        return _mean([constant for constant, _ in self.lines.values()])

    @property
    def slope(self) -> Estimate | None:
        """R, in cores an input."""
        return _mean([slope for _, slope in self.lines.values()])


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """All revisions over all values of one scan.

    Where others used the machine in most rounds, no line is fitted: costs end where there is no
    more to be had, whoever took it.
    """

    scenario: str
    parameter: str
    topology: str
    """Of its first value."""
    values: tuple[float, ...]
    rounds: int
    curves: tuple[Curve, ...]
    """The baseline first."""
    is_disturbed: bool
    """Whether the machine did something else in most rounds."""


@dataclass(frozen=True, kw_only=True)
class Fits:
    """How far a revision stays under a bound of lateness."""

    label: str
    most: float | None
    """The largest value at which it does, and at all smaller ones; ``None`` where it never does."""
    over: PointOfCurve | None
    """The first point at which that is not certain; ``None`` where it always is."""


def scans(records: Iterable[Record]) -> list[Scanned]:
    """Every scan among the records of a comparison."""
    having = [(one.scan.curve, one) for one in records if one.scan is not None]
    return [
        _scanned(sorted((one for of, one in having if of == curve), key=_value))
        for curve in dict.fromkeys(curve for curve, _ in having)
    ]


def fits(scanned: Scanned, bound_s: float) -> list[Fits]:
    """Of each revision the largest value at which lateness is certainly under a bound.

    The upper end of its interval has to be; of one round, its value.
    """
    return [_fits(curve, bound_s) for curve in scanned.curves]


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
    of_each = [_by_round(ordered, label, metric) for label in labels]
    least = max(metric.floor / values[-1], _LEAST_SLOPE)
    return {
        number: tuple(max(line(values, of[number])[1], least) for of in of_each)
        for number in sorted(set(of_each[0]).intersection(*of_each[1:]))
    }


def _scanned(records: Sequence[Record]) -> Scanned:
    point, context = records[0].scan, records[0].context
    assert point is not None, "it is of a scan"
    rounds = [len({run.round for run in record.measurements}) for record in records]
    disturbed = sum(len(record.disturbed_rounds) for record in records)
    is_disturbed = mostly_disturbed(disturbed, sum(rounds))
    baseline, *candidates = (
        _curve(label, records, is_fitted=not is_disturbed) for label in context.labels
    )
    return Scanned(
        scenario=point.scenario,
        parameter=point.parameter,
        topology=context.topology,
        values=tuple(map(_value, records)),
        rounds=max(rounds),
        curves=(
            baseline,
            *(_against(baseline, one) for one in candidates),
        ),
        is_disturbed=is_disturbed,
    )


def _curve(label: str, records: Sequence[Record], *, is_fitted: bool) -> Curve:
    points = tuple(_point(label, record) for record in records)
    curve = Curve(label=label, points=points)
    values = [point.value for point in curve.measured]
    rounds = _by_round([one for one in records if _value(one) in values], label, COST)
    if len(values) < FEWEST or not rounds or not is_fitted:
        return curve
    found = growth(values, list(rounds.values()))
    fit, to = found.fit, found.tried
    lines = {} if fit is None else {n: fit(values[:to], one[:to]) for n, one in rounds.items()}
    return replace(curve, growth=found, lines=lines)


def _point(label: str, record: Record) -> PointOfCurve:
    costs, late = (
        [run.metrics[one.key] for run in record.of(label) if one.key in run.metrics]
        for one in (COST, LATENESS)
    )
    last = next((one for one in reversed(record.outcomes) if one.label == label), None)
    return PointOfCurve(
        value=_value(record),
        runs=tuple(costs),
        cost=mean(costs) if costs else None,
        lateness=mean(late) if late else None,
        lacks="" if costs or last is None else f"{last.reason}: {last.message}",
    )


def _by_round(records: Sequence[Record], label: str, metric: Metric) -> dict[int, Costs]:
    """What a revision costs at every value, in each round in which it has all of them."""
    found = [
        {
            run.round: run.metrics[metric.key]
            for run in record.of(label)
            if metric.key in run.metrics
        }
        for record in records
    ]
    shared = set(found[0]).intersection(*found[1:]) if found else set()
    return {number: [one[number] for one in found] for number in sorted(shared)}


def _against(baseline: Curve, curve: Curve) -> Curve:
    ratio = _slope_ratio(baseline, curve)
    return replace(curve, slope_ratio=ratio, turns_at=_turns_at(baseline, curve, ratio))


def _turns_at(baseline: Curve, curve: Curve, ratio: Estimate | None) -> float | None:
    if ratio is None or ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return None
    turned = None
    for theirs, ours in reversed([*zip(baseline.points, curve.points, strict=True)]):
        less, more = (ours, theirs) if ratio.low > 1 else (theirs, ours)
        if not _is_below(less.cost, more.cost):
            break
        turned = ours.value
    return turned


def _is_below(less: Estimate | None, more: Estimate | None) -> bool:
    """Whether the interval of one mean lies below that of another."""
    if less is None or more is None or less.high is None or more.low is None:
        return False
    return less.high < more.low


def _slope_ratio(baseline: Curve, curve: Curve) -> Estimate | None:
    """R to that of the baseline, in the rounds in which both have a line."""
    logs = [
        math.log(max(curve.lines[number][1], _LEAST_SLOPE) / max(theirs, _LEAST_SLOPE))
        for number, (_, theirs) in baseline.lines.items()
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


def _fits(curve: Curve, bound_s: float) -> Fits:
    most = None
    for point in curve.points:
        late = point.lateness
        if late is None or (late.value if late.high is None else late.high) >= bound_s:
            return Fits(label=curve.label, most=most, over=point)
        most = point.value
    return Fits(label=curve.label, most=most, over=None)


def _value(record: Record) -> float:
    assert record.scan is not None, "it is of a scan"
    return record.scan.value
