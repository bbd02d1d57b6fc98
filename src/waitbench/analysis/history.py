"""Sessions that share an anchor -> the history of a cost, its change points, and what it lacks.

The CPU of one revision differs from session to session by more than most revisions differ from each
other, and the machine is part of it, so only ratios within a session are put side by side: those to
the anchor, which every session measures too. Each machine has a history of its own.

How far a ratio is off is one figure a history: the noise of the rounds, which is known, and what
differs between sessions. That is estimated from how neighbours in the history differ: by the
median, which a few steps do not move, among some that are as assumed.

PELT finds the change points for which the squares around the mean of each part, and a penalty for
each, are the least (R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints with
a linear computational cost", J. Am. Stat. Assoc. 107, 2012; here the library ruptures). A change
point is claimed if the ratio of its two sides lies beyond the margin with its whole interval.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import fmean, median, variance

from waitbench.analysis.rule import ALPHA
from waitbench.analysis.sessions import Entry, Session, independent
from waitbench.analysis.statistics import CONFIDENCE, t_quantile
from waitbench.model.errors import HarnessError
from waitbench.model.estimate import MARGIN, Estimate
from waitbench.model.record import Announced, Series

_ASSUMED = 0.03**2
"""The variance between sessions, as long as they are too few to tell."""
_ASSUMED_COUNT = 4
"""How many differences of neighbours that counts: the median of fewer may be a change point's."""
_MEDIAN_OF_SQUARE = 0.455
"""Of a standard normal variable."""
_CONFIRMED = 2
"""Sessions on each side of a change point."""


Logs = Mapping[Entry, Mapping[str, float]]
"""The logarithm of a revision's ratio to the anchor in each session that measured it, by folder."""


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
    ratios: Mapping[Entry, Estimate]
    """To the anchor, in order of history; a count is that of sessions."""
    change_points: tuple[ChangePoint, ...]

    def announced(self, metric: str, step: ChangePoint) -> Announced:
        """One of its change points, once it is announced."""
        return Announced(series=self.series, metric=metric, after=step.after, rose=step.is_rise)


def commonest(sessions: Iterable[Session]) -> str | None:
    """The revision that most sessions hold, of these the earliest: the anchor if none is named."""
    counts = Counter(entry for one in independent(sessions) for entry in one.logs)
    best = min(counts, key=lambda entry: (-counts[entry], entry.order), default=None)
    return best.name if best else None


def trends(sessions: Sequence[Session], anchor: str | None) -> tuple[Trend, ...]:
    """The history of each series and machine whose sessions hold the anchor; all of one metric.

    Without a named anchor that of each engine is the revision that most of its sessions hold.
    """
    found = []
    key = attrgetter("engine", "series", "machine")
    for (engine, *_), own in groupby(sorted(independent(sessions), key=key), key):
        group = list(own)
        name = anchor or commonest(one for one in sessions if one.engine == engine)
        base = [entry for one in group for entry in one.logs if entry.name == name]
        found += [_trend(group, entry) for entry in base[:1]]
    return tuple(found)


def unannounced(
    trends: Sequence[Trend], metric: str, announced: Collection[Announced]
) -> list[tuple[Trend, ChangePoint]]:
    """The change points that two sessions confirm and that were not announced."""
    orders = {entry.name: entry.order for trend in trends for entry in trend.ratios}

    def is_at(step: ChangePoint, revision: str) -> bool:
        # With more sessions it may be found a few revisions off; and a new machine, which has
        # measured few revisions, sees both sides of an old one.
        (first, *_), (*_, last) = step.sides
        is_between = revision in orders and first.order < orders[revision] <= last.order
        return is_between or revision == step.after

    return [
        (trend, step)
        for trend in trends
        for step in trend.change_points
        if not step.is_provisional
        and not any(
            (one.series, one.metric, one.rose) == (trend.series, metric, step.is_rise)
            and is_at(step, one.after)
            for one in announced
        )
    ]


def _trend(sessions: Sequence[Session], base: Entry) -> Trend:
    logs: dict[Entry, dict[str, float]] = {}
    noise: list[float] = []
    for one in (one for one in sessions if base in one.logs):
        for entry, costs in one.logs.items():
            paired = [a - b for a, b in zip(costs, one.logs[base], strict=True)]
            logs.setdefault(entry, {})[one.folder] = fmean(paired)
            noise += [variance(paired) / len(paired)] if entry != base else []
    logs = {entry: logs[entry] for entry in sorted(logs, key=attrgetter("order"))}
    neighbours = [log for entry, own in logs.items() if entry != base for log in own.values()]
    scatter = math.sqrt(_variance(neighbours, fmean(noise)))
    usual = scatter * t_quantile((1 + CONFIDENCE) / 2, math.inf)
    return Trend(
        series=sessions[0].series,
        machine=sessions[0].machine,
        anchor=base.name,
        ratios={
            # To itself a ratio has no error.
            entry: _estimate(
                fmean(own.values()), usual * (entry != base) / math.sqrt(len(own)), len(own)
            )
            for entry, own in logs.items()
        },
        change_points=tuple(_change_points(logs, base, scatter)),
    )


def _variance(logs: Sequence[float], noise: float) -> float:
    """The variance of a ratio's logarithm, of ratios in order of history with known noise."""
    apart = [(later - earlier) ** 2 / 2 / _MEDIAN_OF_SQUARE for earlier, later in pairwise(logs)]
    # Counts may be equal in all runs of all sessions, and another day all the same.
    least = noise + _ASSUMED * _ASSUMED_COUNT / (_ASSUMED_COUNT + len(apart))
    return max(least, median([*apart, *[noise + _ASSUMED] * _ASSUMED_COUNT]))


def _estimate(log: float, half: float, count: int) -> Estimate:
    return Estimate(math.exp(log), math.exp(log - half), math.exp(log + half), count)


def _change_points(logs: Logs, anchor: Entry, scatter: float) -> list[ChangePoint]:
    """The change points that certainly exceed the margin."""
    entries, between = tuple(logs), len(logs) - 1
    # How many standard errors are beyond chance anywhere between two of them; the scatter is known
    # as well as that many differences tell it.
    certain = t_quantile(1 - ALPHA / 2 / between, _ASSUMED_COUNT + between)
    starts = _starts([*logs.values()], scatter, certain**2)
    while starts:
        parts = [entries[a:b] for a, b in pairwise((0, *starts, len(entries)))]
        found = [_change_point(logs, sides, anchor, scatter * certain) for sides in pairwise(parts)]
        least = [max(one.ratio.low or 0, 1 / (one.ratio.high or 1)) for one in found]
        if min(least) > 1 + MARGIN:
            return found
        # What is not certain goes, the least certain first, and its sides are one.
        del starts[least.index(min(least))]
    return []


def _starts(logs: Sequence[Mapping[str, float]], scatter: float, penalty: float) -> list[int]:
    """The numbers of the revisions with which PELT begins another part."""
    import numpy as np

    try:
        import ruptures
    except ModuleNotFoundError as error:
        raise HarnessError(
            "A history needs the package ruptures, which has no release for this Python: "
            "use Python 3.10 to 3.13."
        ) from error
    numbers = [number for number, own in enumerate(logs) for _ in own]
    signal = np.array([log for own in logs for log in own.values()]) / scatter
    # The linear kernel's cost is that of squares; this is compiled, ruptures.Pelt is not.
    search = ruptures.KernelCPD(kernel="linear", min_size=1, jump=1)
    found = search.fit(signal).predict(pen=penalty)
    # Sessions of one revision are together.
    return sorted({numbers[end] for end in found[:-1]} - {0})


def _change_point(
    logs: Logs, sides: tuple[tuple[Entry, ...], tuple[Entry, ...]], anchor: Entry, error: float
) -> ChangePoint:
    """The change from one part to the next; ``error`` is that of a single ratio.

    What costs as much as the anchor has the ratio 1, without an error.
    """
    own = {side: [log for entry in side for log in logs[entry].values()] for side in sides}
    before, after = (0.0 if anchor in side else fmean(own[side]) for side in sides)
    half = error * math.sqrt(sum(1 / len(own[side]) for side in sides if anchor not in side))
    sessions = (len({folder for entry in side for folder in logs[entry]}) for side in sides)
    return ChangePoint(sides=sides, ratio=_estimate(after - before, half, min(sessions)))
