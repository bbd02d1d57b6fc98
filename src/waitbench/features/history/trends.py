"""Computes the history of a cost, and its change points, from sessions that share an anchor.

Costs differ more between sessions than between most revisions, and depend on the machine. So a
history consists of ratios to the anchor, on one machine; every session measures the anchor.

All ratios of a history have the same variance: that of rounds plus that of sessions. Its estimate
is the median of the squared differences of neighbours, including pseudo-observations as a prior; a
few change points do not affect a median.

PELT minimises the sum of squares around the mean of each segment, plus a penalty per change point
(R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints with a linear
computational cost", J. Am. Stat. Assoc. 107, 2012; here the library ruptures). A change point is
reported if the whole interval of the ratio of its sides lies beyond the margin.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import fmean, median, variance

import msgspec
from msgspec import structs

from waitbench.analysis.rule import ALPHA
from waitbench.analysis.statistics import CONFIDENCE, t_quantile
from waitbench.features.history.sessions import HistoryRevision, HistorySession, without_copies
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import Metric
from waitbench.model.record import Series
from waitbench.model.verdicts import MARGIN, Estimate

_PRIOR_VARIANCE = 0.03**2
"""The prior variance of sessions, of the logarithm of a ratio."""
_PRIOR_WEIGHT = 4
"""The number of pseudo-observations. With fewer, the median may be that of a change point."""
_MEDIAN_OF_SQUARE = 0.455
"""The median of the square of a standard normal variable."""
_CONFIRMED = 2
"""The sessions on each side that confirm a change point."""

Logs = Mapping[HistoryRevision, Mapping[str, float]]
"""The log ratios of revisions to the anchor, by the folder of the session."""


class Announced(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """An announced change point."""

    series: Series
    metric: str
    after: str
    """The first revision with the new cost."""
    rose: bool


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A lasting change of the cost."""

    sides: tuple[tuple[HistoryRevision, ...], tuple[HistoryRevision, ...]]
    """The segments of revisions before and after it."""
    ratio: Estimate
    """The cost after the change divided by the cost before it.

    The interval holds for all positions together; ``count`` has the sessions of the smaller side.
    """

    @property
    def before(self) -> str:
        return self.sides[0][-1].name

    @property
    def after(self) -> str:
        return self.sides[1][0].name

    @property
    def is_rise(self) -> bool:
        return self.ratio.value > 1

    @property
    def is_provisional(self) -> bool:
        """Whether one of its sides has a single session."""
        return self.ratio.count < _CONFIRMED


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The history of one metric in one series on one machine."""

    metric: Metric
    series: Series
    machine: str
    anchor: str
    ratios: Mapping[HistoryRevision, Estimate]
    """Ratios to the anchor, in order of history; counts are of sessions."""
    change_points: tuple[ChangePoint, ...]

    def announcement(self, point: ChangePoint) -> Announced:
        return Announced(
            series=self.series, metric=self.metric.name, after=point.after, rose=point.is_rise
        )


def most_measured(sessions: Iterable[HistorySession]) -> str | None:
    """The default anchor: the revision in most sessions; of several such, the earliest."""
    counts = Counter(it for session in without_copies(sessions) for it in session.logs)
    best = min(counts, key=lambda it: (-counts[it], it.order), default=None)
    return best.name if best else None


def trends(sessions: Sequence[HistorySession], anchor: str | None) -> tuple[Trend, ...]:
    """The history of each metric, series and machine.

    By default the anchor is the revision in most sessions of the engine.
    """
    histories = []
    key = attrgetter("engine", "series", "machine", "metric.name")
    for (engine, *_), members in groupby(sorted(without_copies(sessions), key=key), key):
        group = list(members)
        name = anchor or most_measured(session for session in sessions if session.engine == engine)
        anchors = [it for session in group for it in session.logs if it.name == name]
        histories += [_trend(group, it) for it in anchors[:1]]
    return tuple(histories)


def unannounced(
    trends: Sequence[Trend], announced: Collection[Announced]
) -> list[tuple[Trend, ChangePoint]]:
    """The change points that two sessions confirm and that are not announced yet."""
    orders = {revision.name: revision.order for trend in trends for revision in trend.ratios}

    def is_near(point: ChangePoint, name: str) -> bool:
        # Further sessions may move a change point by a few revisions. A new machine has measured
        # few revisions, so its segments are long.
        (first, *_), (*_, last) = point.sides
        is_between = name in orders and first.order < orders[name] <= last.order
        return is_between or name == point.after

    return [
        (trend, point)
        for trend in trends
        for point in trend.change_points
        if not point.is_provisional
        and not any(
            structs.replace(known, after=point.after) == trend.announcement(point)
            and is_near(point, known.after)
            for known in announced
        )
    ]


def _trend(sessions: Sequence[HistorySession], anchor: HistoryRevision) -> Trend:
    logs: dict[HistoryRevision, dict[str, float]] = {}
    noise: list[float] = []
    for session in (session for session in sessions if anchor in session.logs):
        for revision, costs in session.logs.items():
            paired = [a - b for a, b in zip(costs, session.logs[anchor], strict=True)]
            logs.setdefault(revision, {})[session.folder] = fmean(paired)
            noise += [variance(paired) / len(paired)] if revision != anchor else []
    logs = {revision: logs[revision] for revision in sorted(logs, key=attrgetter("order"))}
    ordered = [log for revision in logs if revision != anchor for log in logs[revision].values()]
    deviation = math.sqrt(_variance(ordered, fmean(noise)))
    half_width = deviation * t_quantile((1 + CONFIDENCE) / 2, math.inf)
    ratios = {}
    for revision, by_session in logs.items():
        count = len(by_session)
        # The anchor's ratio to itself is exact.
        error = half_width * (revision != anchor) / math.sqrt(count)
        ratios[revision] = _estimate(fmean(by_session.values()), error, count)
    return Trend(
        metric=sessions[0].metric,
        series=sessions[0].series,
        machine=sessions[0].machine,
        anchor=anchor.name,
        ratios=ratios,
        change_points=tuple(_change_points(logs, anchor, deviation)),
    )


def _variance(logs: Sequence[float], noise: float) -> float:
    """The variance of a log ratio; ``logs`` are in order, ``noise`` is the variance of rounds."""
    variances = [(after - before) ** 2 / 2 / _MEDIAN_OF_SQUARE for before, after in pairwise(logs)]
    # Identical values so far, such as counts, do not prove a variance of zero.
    least = noise + _PRIOR_VARIANCE * _PRIOR_WEIGHT / (_PRIOR_WEIGHT + len(variances))
    return max(least, median([*variances, *[noise + _PRIOR_VARIANCE] * _PRIOR_WEIGHT]))


def _estimate(log: float, half_width: float, count: int) -> Estimate:
    return Estimate(math.exp(log), math.exp(log - half_width), math.exp(log + half_width), count)


def _change_points(logs: Logs, anchor: HistoryRevision, deviation: float) -> list[ChangePoint]:
    revisions, positions = tuple(logs), len(logs) - 1
    # The critical value, Bonferroni-corrected over all positions. Each difference of neighbours is
    # a degree of freedom of the standard deviation.
    critical = t_quantile(1 - ALPHA / 2 / positions, _PRIOR_WEIGHT + positions)
    starts = _starts([*logs.values()], deviation, critical**2)
    while starts:
        segments = [revisions[a:b] for a, b in pairwise((0, *starts, len(revisions)))]
        points = [
            _change_point(logs, sides, anchor, deviation * critical) for sides in pairwise(segments)
        ]
        factors = [max(point.ratio.low or 0, 1 / (point.ratio.high or 1)) for point in points]
        if min(factors) > 1 + MARGIN:
            return points
        # Drop the least certain change point, merge its segments, repeat.
        del starts[factors.index(min(factors))]
    return []


def _starts(logs: Sequence[Mapping[str, float]], deviation: float, penalty: float) -> list[int]:
    """The indices of revisions that begin a new segment, by PELT."""
    import numpy as np

    try:
        import ruptures
    except ModuleNotFoundError as error:
        raise HarnessError(
            "A history needs the package ruptures, which has no release for this Python: "
            "use Python 3.10 to 3.13."
        ) from error
    indices = [index for index, by_session in enumerate(logs) for _ in by_session]
    signal = np.array([log for by_session in logs for log in by_session.values()]) / deviation
    # With the linear kernel, KernelCPD minimises the squares of ruptures.Pelt in compiled code.
    search = ruptures.KernelCPD(kernel="linear", min_size=1, jump=1)
    *ends, _ = search.fit(signal).predict(pen=penalty)
    # Sessions of one revision stay together.
    return sorted({indices[end] for end in ends} - {0})


def _change_point(
    logs: Logs,
    sides: tuple[tuple[HistoryRevision, ...], tuple[HistoryRevision, ...]],
    anchor: HistoryRevision,
    error: float,
) -> ChangePoint:
    """The change between two segments; ``error`` is the half-width of the interval of a session."""
    # The ratio of the anchor's segment is 1 exactly.
    ratios = {side: [log for it in side for log in logs[it].values()] for side in sides}
    before, after = (0.0 if anchor in side else fmean(ratios[side]) for side in sides)
    counts = [len(ratios[side]) for side in sides if anchor not in side]
    half_width = error * math.sqrt(sum(1 / count for count in counts))
    sessions = (len({folder for it in side for folder in logs[it]}) for side in sides)
    return ChangePoint(sides=sides, ratio=_estimate(after - before, half_width, min(sessions)))
