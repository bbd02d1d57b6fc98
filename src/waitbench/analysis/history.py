"""Sessions that share an anchor -> the history of a cost, its change points, and what it lacks.

The CPU of one revision differs from session to session by more than most revisions differ from each
other, and the machine is part of it, so only ratios within a session are put side by side: those to
the anchor, which every session measures too. Each machine has a history of its own.

How far a ratio is off is one figure a history: the noise of the rounds, which is known, and what
differs between sessions. That is estimated from how neighbours in the history differ: by the
median, which a few steps do not move, drawn towards what is assumed as long as there are few.

PELT finds the change points for which the squares around the mean of each part, and a penalty for
each, are the least (R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints with
a linear computational cost", J. Am. Stat. Assoc. 107, 2012; here the library ruptures). A change
point is claimed if the ratio of its two sides lies beyond the margin with its whole interval.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from statistics import fmean, median, variance

from waitbench.analysis.rule import ALPHA
from waitbench.analysis.sessions import Entry, Session, independent
from waitbench.analysis.statistics import CONFIDENCE, Estimate, t_quantile
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
_MEDIAN_OF_SQUARE = 0.455
"""Of a standard normal variable."""
_CONFIRMED = 2
"""Sessions on each side of a change point."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A revision in a history."""

    entry: Entry
    logs: Mapping[str, float]
    """The logarithm of its ratio to the anchor in each session that measured it, by folder."""
    ratio: Estimate
    """To the anchor; the count is that of sessions."""


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
    apart: tuple[Entry, ...]
    """Those that no session measured beside the anchor."""

    @property
    def newest(self) -> Place:
        return self.places[-1]

    def announced(self, metric: str, step: ChangePoint) -> Announced:
        """One of its change points, once it is announced."""
        return Announced(series=self.series, metric=metric, after=step.after, rose=step.is_rise)


def commonest(sessions: Iterable[Session]) -> str | None:
    """The revision that most sessions hold, of these the earliest: the anchor if none is named."""
    counts = Counter(entry for one in independent(sessions) for entry in one.entries)
    best = min(counts, key=lambda entry: (-counts[entry], entry.order), default=None)
    return best.name if best else None


def trends(sessions: Sequence[Session], anchor: str | None, margin: float) -> tuple[Trend, ...]:
    """The history of each series and machine whose sessions hold the anchor; all of one metric.

    Without a named anchor that of each engine is the revision that most of its sessions hold.
    """
    groups: dict[tuple[str, Series, str], list[Session]] = {}
    for one in independent(sessions):
        groups.setdefault((one.engine, one.series, one.machine), []).append(one)
    anchors = {
        engine: anchor or commonest(one for one in sessions if one.engine == engine)
        for engine, *_ in groups
    }
    return tuple(
        _trend(groups[key], name, margin)
        for key in sorted(groups)
        if (name := anchors[key[0]])
        and any(name == entry.name for one in groups[key] for entry in one.entries)
    )


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
    base = next(entry for one in sessions for entry in one.entries if entry.name == anchor)
    logs: dict[Entry, dict[str, float]] = {}
    noise: list[float] = []
    for one in sessions:
        if base not in one.logs:
            continue
        for entry, costs in one.logs.items():
            paired = [a - b for a, b in zip(costs, one.logs[base], strict=True)]
            logs.setdefault(entry, {})[one.folder] = fmean(paired)
            noise += [variance(paired) / len(paired)] if entry != base else []
    ordered = sorted(logs, key=attrgetter("order"))
    neighbours = [log for entry in ordered if entry != base for log in logs[entry].values()]
    scatter = math.sqrt(_variance(neighbours, noise))
    places = [_place(entry, logs[entry], 0.0 if entry == base else scatter) for entry in ordered]
    known = {entry for one in sessions if base in one.logs for entry in one.entries}
    return Trend(
        series=sessions[0].series,
        machine=sessions[0].machine,
        anchor=anchor,
        places=tuple(places),
        change_points=tuple(_change_points(places, base, scatter, math.log1p(margin))),
        apart=tuple(
            sorted(
                {entry for one in sessions for entry in one.entries} - known,
                key=attrgetter("order"),
            )
        ),
    )


def _variance(logs: Sequence[float], noise: Sequence[float]) -> float:
    """The variance of a ratio's logarithm, of ratios in order of history with known noise."""
    known = fmean(noise) if noise else 0.0
    squares = [(later - earlier) ** 2 for earlier, later in pairwise(logs)]
    count = len(squares)
    if count < _FEWEST_DIFFERENCES:
        return known + _ASSUMED
    between = max(0.0, median(squares) / _MEDIAN_OF_SQUARE / 2 - known)
    return known + (_ASSUMED_WEIGHT * _ASSUMED + count * between) / (_ASSUMED_WEIGHT + count)


def _place(entry: Entry, logs: Mapping[str, float], scatter: float) -> Place:
    half = t_quantile((1 + CONFIDENCE) / 2, math.inf) * scatter / math.sqrt(len(logs))
    return Place(entry=entry, logs=logs, ratio=_estimate(fmean(logs.values()), half, len(logs)))


def _estimate(log: float, half: float, count: int) -> Estimate:
    return Estimate(math.exp(log), math.exp(log - half), math.exp(log + half), count)


def _change_points(
    places: Sequence[Place], anchor: Entry, scatter: float, least: float
) -> list[ChangePoint]:
    """The change points beyond a margin, given as a logarithm."""
    if len(places) < 2:
        return []
    # How many standard errors are beyond chance at any place; the scatter is known as well as that
    # many differences tell it.
    certain = t_quantile(1 - ALPHA / 2 / (len(places) - 1), _ASSUMED_WEIGHT + len(places) - 1)
    starts = _starts(places, scatter, certain**2)
    while starts:
        parts = [places[a:b] for a, b in pairwise((0, *starts, len(places)))]
        found = [_change_point(*sides, anchor, scatter * certain) for sides in pairwise(parts)]
        bounds = [
            max(math.log(one.ratio.low or 1), -math.log(one.ratio.high or 1)) for one in found
        ]
        if min(bounds) > least:
            return found
        # What is not certain goes, the least certain first, and its sides are one.
        del starts[bounds.index(min(bounds))]
    return []


def _starts(places: Sequence[Place], scatter: float, penalty: float) -> list[int]:
    """The numbers of the places with which PELT begins another part."""
    import numpy as np

    try:
        import ruptures
    except ModuleNotFoundError as error:
        raise HarnessError(
            "A history needs the package ruptures, which has no release for this Python: "
            "use Python 3.10 to 3.13."
        ) from error
    numbers = [number for number, place in enumerate(places) for _ in place.logs]
    signal = np.array([log for place in places for log in place.logs.values()]) / scatter
    if len(signal) < 2:
        return []
    # The linear kernel's cost is that of squares; this is compiled, ruptures.Pelt is not.
    search = ruptures.KernelCPD(kernel="linear", min_size=1, jump=1)
    found = search.fit(signal).predict(pen=penalty)
    # Sessions of one revision are one place.
    return sorted({numbers[end] for end in found[:-1]} - {0})


def _change_point(
    before: Sequence[Place], after: Sequence[Place], anchor: Entry, error: float
) -> ChangePoint:
    """The change from one part to the next; ``error`` is that of a single ratio.

    What costs as much as the anchor has the ratio 1, without an error.
    """
    centres, squares, counts = [], 0.0, []
    for part in (before, after):
        logs = [log for one in part for log in one.logs.values()]
        has_anchor = any(one.entry == anchor for one in part)
        centres.append(0.0 if has_anchor else fmean(logs))
        if not has_anchor:
            squares += error**2 / len(logs)
            counts.append(len({folder for one in part for folder in one.logs}))
    return ChangePoint(
        sides=(tuple(one.entry for one in before), tuple(one.entry for one in after)),
        ratio=_estimate(centres[1] - centres[0], math.sqrt(squares), min(counts)),
    )
