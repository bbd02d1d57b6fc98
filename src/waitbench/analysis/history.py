"""Sessions that share an anchor -> the history of a cost, its change points, and what it lacks.

The CPU of one revision differs from session to session by more than most revisions differ from each
other, and the machine is part of it, so only ratios within a session are put side by side: those to
the anchor, which every session measures too. Each machine has a history of its own.

A ratio is off by the noise of its session's runs, which is known, and by what differs between
sessions. That is estimated from how neighbours in the history differ: by the median, which a few
steps do not move, drawn towards what is assumed as long as there are few.

With known errors, the costs of a history with some change points are as likely as their weighted
squares around the mean of each part are small. PELT finds the change points for which these, and a
penalty for each, are the least (R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of
changepoints with a linear computational cost", J. Am. Stat. Assoc. 107, 2012; here the library
ruptures). A change point is claimed if the ratio of its two sides lies beyond the margin with its
whole interval.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.sessions import Entry, Session, TriedRevisions, independent
from waitbench.analysis.statistics import CONFIDENCE, Estimate
from waitbench.model.errors import HarnessError
from waitbench.model.record import Announced, Series

MARGIN = 0.05
"""What a change point must exceed to be claimed, as a share."""
_ASSUMED = 0.03**2
"""The variance between sessions, as long as they are too few to tell."""
_ASSUMED_WEIGHT = 2
"""How many differences of neighbours that counts."""
_FEWEST_DIFFERENCES = 4
"""Of fewer, the median may be that of a change point."""
_PRIOR_FREEDOM = 4
"""What the noise of all sessions counts beside a session's own, in degrees of freedom."""
_MEDIAN_OF_SQUARE = 0.455
"""Of a standard normal variable."""
_LEAST_VARIANCE = 1e-6
"""No cost is known better, the anchor's own included."""
_CONFIRMED = 2
"""Sessions on each side of a change point."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A revision in a history."""

    entry: Entry
    ratio: Estimate
    """To the anchor; the count is that of sessions."""
    variance: float
    """Of the logarithm of the ratio."""
    sessions: frozenset[str]
    """The folders of those that measured it."""


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """From one revision on, everything costs more, or less, than before."""

    sides: tuple[tuple[Entry, ...], tuple[Entry, ...]]
    """The revisions before it and after it, each up to the next change point."""
    ratio: Estimate
    """After to before; the interval is corrected for all places. Counted are the sessions of the
    side that fewer measured."""

    @property
    def before(self) -> str:
        """The last revision of before."""
        return self.sides[0][-1].name

    @property
    def after(self) -> str:
        """The first revision that costs otherwise."""
        return self.sides[1][0].name

    @property
    def is_rise(self) -> bool:
        return self.ratio.value > 1

    @property
    def is_provisional(self) -> bool:
        """Whether only one session says so: another one may have it otherwise."""
        return self.ratio.count < _CONFIRMED


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The history of one metric in one series on one machine."""

    series: Series
    machine: str
    anchor: str
    places: tuple[Place, ...]
    """In order of history."""
    change_points: tuple[ChangePoint, ...]
    """Between revisions that have the same packages as the anchor."""
    apart: tuple[Entry, ...]
    """Those that no session measured beside the anchor."""
    between: float
    """The standard deviation of a logarithm from session to session."""

    @property
    def newest(self) -> Place:
        """The last revision that has besides what the anchor has."""
        return _like_the_anchor(self.places, self.anchor)[-1]


@dataclass(frozen=True, kw_only=True)
class Due:
    """A comparison that the history lacks."""

    revisions: tuple[str, ...]
    """The anchor first; the newest last."""
    why: str


def commonest(sessions: Iterable[Session]) -> str | None:
    """The revision that most sessions hold, of these the earliest: the anchor if none is named."""
    counts = Counter(entry for one in independent(sessions) for entry in one.entries)
    best = min(counts, key=lambda entry: (-counts[entry], entry.order), default=None)
    return best.name if best else None


def trends(sessions: Sequence[Session], anchor: str, margin: float) -> tuple[Trend, ...]:
    """The history of each series and machine whose sessions hold the anchor; all of one metric."""
    groups: dict[tuple[Series, str], list[Session]] = {}
    for one in independent(sessions):
        groups.setdefault((one.series, one.machine), []).append(one)
    return tuple(
        _trend(groups[key], anchor, margin)
        for key in sorted(groups)
        if any(anchor == entry.name for one in groups[key] for entry in one.entries)
    )


def due(
    candidates: Sequence[str], measured: Collection[str], anchor: str, trends: Sequence[Trend]
) -> Iterator[Due]:
    """What to measure, what matters most first.

    That is a second session for each change point that only one has told of; then the
    ``candidates``, in order of history, that are not ``measured``: the newest first, each beside
    the anchor.
    """
    asked: set[tuple[str, str]] = set()
    for step in (one for trend in trends for one in trend.change_points if one.is_provisional):
        if (step.before, step.after) not in asked:
            asked.add((step.before, step.after))
            yield Due(
                revisions=tuple(dict.fromkeys((anchor, step.before, step.after))),
                why=f"only one session says that {step.after} differs from {step.before}",
            )
    for newest in reversed(candidates):
        if newest not in measured and newest != anchor:
            yield Due(revisions=(anchor, newest), why=f"{newest} is not measured")


def measured(tried: Iterable[TriedRevisions], wanted: Iterable[Series]) -> frozenset[str]:
    """The revisions that were tried in all of some series: one comparison measures them in all."""
    by_series: dict[Series, frozenset[str]] = {}
    for one in tried:
        by_series[one.series] = by_series.get(one.series, frozenset()) | one.names
    found = [by_series.get(series, frozenset()) for series in wanted]
    return found[0].intersection(*found[1:]) if found else frozenset()


def unannounced(
    trends: Sequence[Trend], metric: str, announced: Collection[Announced]
) -> list[tuple[Trend, ChangePoint]]:
    """The change points that two sessions confirm and that were not announced."""
    entries = {place.entry.name: place.entry for trend in trends for place in trend.places}
    return [
        (trend, step)
        for trend in trends
        for step in trend.change_points
        if not step.is_provisional
        and not any(
            (one.series, one.metric, one.rose) == (trend.series, metric, step.is_rise)
            and _is_same(step, one.after, entries)
            for one in announced
        )
    ]


def _is_same(step: ChangePoint, after: str, entries: dict[str, Entry]) -> bool:
    """Whether a change point is the one that was announced at a revision.

    With more sessions it may be found a few revisions off; and a new machine, which has measured
    few revisions, sees both sides of an old one.
    """
    if after not in entries:
        return after == step.after
    (first, *_), (*_, last) = step.sides
    return first.order < entries[after].order <= last.order


def _trend(sessions: Sequence[Session], anchor: str, margin: float) -> Trend:
    places, between = _places(sessions, anchor)
    known = {place.entry.name for place in places}
    entries = {entry.name: entry for one in sessions for entry in one.entries}
    return Trend(
        series=sessions[0].series,
        machine=sessions[0].machine,
        anchor=anchor,
        places=tuple(places),
        change_points=tuple(
            _change_points(_like_the_anchor(places, anchor), anchor, math.log1p(margin))
        ),
        apart=tuple(
            sorted(
                (entry for name, entry in entries.items() if name not in known),
                key=lambda entry: entry.order,
            )
        ),
        between=math.sqrt(between),
    )


@dataclass(frozen=True)
class _Point:
    """A revision in a session, beside the anchor."""

    entry: Entry
    folder: str
    log: float
    """Of the ratio to the anchor."""
    noise: float
    """The variance that the session's runs give it."""


def _places(sessions: Sequence[Session], anchor: str) -> tuple[list[Place], float]:
    """The revisions that were measured beside the anchor, and the variance between sessions."""
    points = [point for one in sessions for point in _points(one, sessions, anchor)]
    points.sort(key=lambda point: (point.entry.order, point.folder))
    variant = next(one.entry.variant for one in points if one.entry.name == anchor)
    alike = (one for one in points if one.entry.variant == variant)
    between = _between([one for one in alike if one.entry.name != anchor])
    by_entry: dict[Entry, list[_Point]] = {}
    for point in points:
        by_entry.setdefault(point.entry, []).append(point)
    return [_place(of, between, anchor) for of in by_entry.values()], between


def _points(one: Session, sessions: Sequence[Session], anchor: str) -> Iterator[_Point]:
    names = [entry.name for entry in one.entries]
    if anchor not in names:
        return
    pooled = math.fsum(each.squares for each in sessions) / sum(each.freedom for each in sessions)
    # Five rounds do not tell a session's noise for certain.
    freedom = one.freedom + _PRIOR_FREEDOM
    noise = 2 * (one.squares + _PRIOR_FREEDOM * pooled) / freedom / one.rounds
    base = one.logs[names.index(anchor)]
    for entry, log in zip(one.entries, one.logs, strict=True):
        yield _Point(entry, one.folder, log - base, 0.0 if entry.name == anchor else noise)


def _between(points: Sequence[_Point]) -> float:
    """The variance between sessions, of points in order of history."""
    squares = [(later.log - earlier.log) ** 2 for earlier, later in pairwise(points)]
    if len(squares) < _FEWEST_DIFFERENCES:
        return _ASSUMED
    noise = median(point.noise for point in points)
    found = max(0.0, median(squares) / _MEDIAN_OF_SQUARE / 2 - noise)
    count = len(squares)
    return (_ASSUMED_WEIGHT * _ASSUMED + count * found) / (_ASSUMED_WEIGHT + count)


def _place(points: Sequence[_Point], between: float, anchor: str) -> Place:
    entry = points[0].entry
    if entry.name == anchor:
        log, variance = 0.0, _LEAST_VARIANCE
    else:
        log, variance = _mean([(one.log, one.noise + between) for one in points])
    half = 0.0 if entry.name == anchor else _quantile((1 + CONFIDENCE) / 2) * math.sqrt(variance)
    return Place(
        entry=entry,
        ratio=Estimate(math.exp(log), math.exp(log - half), math.exp(log + half), len(points)),
        variance=variance,
        sessions=frozenset(one.folder for one in points),
    )


def _change_points(places: Sequence[Place], anchor: str, least: float) -> list[ChangePoint]:
    """The change points beyond a margin, given as a logarithm."""
    starts = _starts(places)
    while starts:
        parts = [places[a:b] for a, b in pairwise((0, *starts, len(places)))]
        rises = [_rise(*sides, len(places) - 1) for sides in pairwise(parts)]
        bounds = [abs(rise) - half for rise, half in rises]
        if min(bounds) > least:
            return [
                _described(*sides, rise, half, anchor)
                for sides, (rise, half) in zip(pairwise(parts), rises, strict=True)
            ]
        # What is not certain goes, the least certain first, and its sides are one.
        del starts[bounds.index(min(bounds))]
    return []


def _starts(places: Sequence[Place]) -> list[int]:
    """The numbers of the places with which PELT begins another part."""
    if len(places) < 2:
        return []
    import numpy as np

    try:
        import ruptures
    except ModuleNotFoundError as error:
        raise HarnessError(
            "A history needs the package ruptures, which has no release for this Python: "
            "use Python 3.10 to 3.13."
        ) from error

    class KnownErrors(ruptures.base.BaseCost):  # type: ignore[misc]
        """Squares around the mean of a part, each in units of its own variance."""

        model, min_size = "known errors", 1

        def fit(self, signal: "np.typing.NDArray[np.float64]") -> "KnownErrors":
            self.signal = signal
            logs, weights = signal.T
            sums = np.cumsum([weights, weights * logs, weights * logs**2], axis=1)
            self.sums = np.hstack([np.zeros((3, 1)), sums])
            return self

        def error(self, start: int, end: int) -> float:
            weight, first, second = self.sums[:, end] - self.sums[:, start]
            return float(second - first**2 / weight)

    signal = np.array([[math.log(one.ratio.value), 1 / one.variance] for one in places])
    found = ruptures.Pelt(custom_cost=KnownErrors(), min_size=1, jump=1).fit(signal)
    # What one change point more takes from the squares by chance: chi-squared, for all places.
    penalty = _certain(len(places) - 1) ** 2
    return [int(end) for end in found.predict(pen=penalty)[:-1]]


def _rise(before: Sequence[Place], after: Sequence[Place], looked_at: int) -> tuple[float, float]:
    """The logarithm of the ratio of two parts, and half of its interval."""
    (first, of_first), (second, of_second) = (
        _mean([(math.log(one.ratio.value), one.variance) for one in part])
        for part in (before, after)
    )
    return second - first, _certain(looked_at) * math.sqrt(of_first + of_second)


def _described(
    before: Sequence[Place], after: Sequence[Place], rise: float, half: float, anchor: str
) -> ChangePoint:
    # The anchor is in all sessions.
    counts = [
        len(frozenset().union(*(one.sessions for one in part)))
        for part in (before, after)
        if all(one.entry.name != anchor for one in part)
    ]
    return ChangePoint(
        sides=(tuple(one.entry for one in before), tuple(one.entry for one in after)),
        ratio=Estimate(math.exp(rise), math.exp(rise - half), math.exp(rise + half), min(counts)),
    )


def _mean(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean of values with their variances, weighted by these, and its variance."""
    weight = math.fsum(1 / variance for _, variance in values)
    return math.fsum(value / variance for value, variance in values) / weight, 1 / weight


def _like_the_anchor(places: Sequence[Place], anchor: str) -> list[Place]:
    variant = next(one.entry.variant for one in places if one.entry.name == anchor)
    return [one for one in places if one.entry.variant == variant]


def _certain(places: int) -> float:
    """How many standard errors are beyond chance at any of so many places.

    The variance between sessions is known as well as that many differences tell it.
    """
    return t_quantile(1 - ALPHA / 2 / places, _ASSUMED_WEIGHT + places)


def _quantile(share: float) -> float:
    """Of the standard normal distribution."""
    from scipy import special

    return float(special.ndtri(share))
