"""What comparisons tell -> the history of a cost, and what it lacks. Pure.

A history has every revision, relative to one of them, the anchor.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from waitbench.analysis.network import Between, Network, between_of, connected, join
from waitbench.analysis.sittings import Entry, SittingFigures, TriedRevision, once
from waitbench.analysis.statistics import Estimate
from waitbench.analysis.trend import TrendStep, steps
from waitbench.model.record import Series


@dataclass(frozen=True, kw_only=True)
class Place:
    """A revision in a trend."""

    entry: Entry
    ratio: Estimate
    """To the anchor; the count is that of sittings."""
    machines: int


@dataclass(frozen=True, kw_only=True)
class Trend:
    """The history of one metric in one series."""

    series: Series
    anchor: str
    places: tuple[Place, ...]
    """In order of history."""
    steps: tuple[TrendStep, ...]
    """Between revisions that have the same packages and knobs besides."""
    apart: tuple[Entry, ...]
    """Those that no chain of sittings joins with the anchor."""
    between: Between

    @property
    def newest(self) -> Place:
        """The last revision that has besides what the anchor has."""
        variant = next(one.entry.variant for one in self.places if one.entry.name == self.anchor)
        return [one for one in self.places if one.entry.variant == variant][-1]

    @property
    def plain_steps(self) -> tuple[TrendStep, ...]:
        """The steps between revisions that have nothing besides."""
        plain = {one.entry.name for one in self.places if not one.entry.variant}
        return tuple(step for step in self.steps if step.after in plain)


@dataclass(frozen=True, kw_only=True)
class Due:
    """A comparison that the history lacks."""

    revisions: tuple[str, ...]
    """The anchor first; the newest last."""
    why: str


def commonest(told: Iterable[SittingFigures]) -> str | None:
    """The revision that most sittings hold, of these the earliest: the anchor if none is named."""
    entries = [entry for one in once(told) for entry in one.entries]
    counts = Counter(entries)
    best = min(counts, key=lambda entry: (-counts[entry], entry.order), default=None)
    return best.name if best else None


def trends(told: Sequence[SittingFigures], anchor: str, margin: float) -> tuple[Trend, ...]:
    """The trend of each series whose sittings hold the anchor; all are of one metric."""
    by_series = _by_series(told)
    return tuple(
        _trend(series, by_series[series], network, margin)
        for series, network in sorted(networks(told, anchor).items(), key=lambda item: item[0])
    )


def networks(told: Sequence[SittingFigures], anchor: str) -> dict[Series, Network]:
    """The network of each series whose sittings hold the anchor; all are of one metric."""
    groups = {
        series: connected([one.sitting for one in of_series])
        for series, of_series in _by_series(told).items()
    }
    between = between_of(group for of_series in groups.values() for group in of_series)
    return {
        series: join(of_series, anchor, between)
        for series, of_series in groups.items()
        if any(anchor in group.revisions for group in of_series)
    }


def due(
    candidates: Sequence[str], measured: Collection[str], anchor: str, trends: Sequence[Trend]
) -> Iterator[Due]:
    """What to measure, what matters most first.

    That is a second sitting for each step that only one has told of, between revisions that have
    nothing besides; then the ``candidates``, in
    order of history, that are not ``measured``: the newest first, each beside the anchor and the
    nearest that is measured by then.
    """
    asked: set[tuple[str, str]] = set()
    for step in (step for trend in trends for step in trend.plain_steps if step.provisional):
        if (step.before, step.after) not in asked:
            asked.add((step.before, step.after))
            yield Due(
                revisions=_apart(anchor, step.before, step.after),
                why=f"only one sitting says that {step.after} differs from {step.before}",
            )
    known = {*measured, anchor}
    for place in reversed(range(len(candidates))):
        newest = candidates[place]
        if newest not in known:
            neighbour = _nearest(candidates, place, known)
            known.add(newest)
            yield Due(revisions=_apart(anchor, neighbour, newest), why=f"{newest} is not measured")


def measured(tried: Iterable[TriedRevision], wanted: Iterable[Series]) -> frozenset[str]:
    """The revisions that were tried in all of some series: one comparison measures them in all."""
    by_series: dict[Series, frozenset[str]] = {}
    for one in tried:
        by_series[one.series] = by_series.get(one.series, frozenset()) | one.names
    found = [by_series.get(series, frozenset()) for series in wanted]
    return found[0].intersection(*found[1:]) if found else frozenset()


def unsaid(
    trends: Sequence[Trend], metric: str, announced: Collection[tuple[Series, str, str]]
) -> list[tuple[Trend, TrendStep]]:
    """The steps that two sittings confirm and nobody was told of.

    ``announced`` are series, metric, and the first revision that costs otherwise.
    """
    return [
        (trend, step)
        for trend in trends
        for step in trend.plain_steps
        if not step.provisional and (trend.series, metric, step.after) not in announced
    ]


def _by_series(told: Sequence[SittingFigures]) -> dict[Series, list[SittingFigures]]:
    found: dict[Series, list[SittingFigures]] = {}
    for one in once(told):
        found.setdefault(one.series, []).append(one)
    return found


def _trend(
    series: Series, told: Sequence[SittingFigures], network: Network, margin: float
) -> Trend:
    entries = {entry.name: entry for one in told for entry in one.entries}
    ordered = sorted(entries.values(), key=lambda entry: entry.order)
    known = set(network.revisions)
    machines: dict[str, set[str]] = {}
    for one in network.sittings:
        for name in one.revisions:
            machines.setdefault(name, set()).add(one.machine)
    return Trend(
        series=series,
        anchor=network.anchor,
        places=tuple(
            Place(
                entry=entry,
                ratio=network.ratio(entry.name),
                machines=len(machines[entry.name]),
            )
            for entry in ordered
            if entry.name in known
        ),
        steps=_steps(network, ordered, margin),
        apart=tuple(entry for entry in ordered if entry.name not in known),
        between=network.between,
    )


def _steps(network: Network, ordered: Sequence[Entry], margin: float) -> tuple[TrendStep, ...]:
    """The steps in history: a variant costs otherwise at any time, and nothing has changed by it.

    So each is a line of its own.
    """
    known = set(network.revisions)
    lines: dict[str, list[str]] = {}
    for entry in ordered:
        if entry.name in known:
            lines.setdefault(entry.variant, []).append(entry.name)
    places = sum(len(line) - 1 for line in lines.values())
    return tuple(step for line in lines.values() for step in steps(network, line, margin, places))


def _nearest(candidates: Sequence[str], place: int, known: Collection[str]) -> str | None:
    """The nearest one that is measured, rather before than after."""
    before = (one for one in reversed(candidates[:place]) if one in known)
    after = (one for one in candidates[place + 1 :] if one in known)
    return next(before, None) or next(after, None)


def _apart(*names: str | None) -> tuple[str, ...]:
    """Each name once."""
    return tuple(dict.fromkeys(name for name in names if name is not None))
