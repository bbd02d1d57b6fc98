"""What a history lacks -> what to measure next, in which order. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from waitbench.analysis.history import Trend
from waitbench.analysis.sittings import TriedRevision
from waitbench.analysis.trend import TrendStep
from waitbench.model.series import Series


@dataclass(frozen=True, kw_only=True)
class Due:
    """A comparison that the history lacks."""

    revisions: tuple[str, ...]
    """The anchor first; the newest last."""
    why: str


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


def _nearest(candidates: Sequence[str], place: int, known: Collection[str]) -> str | None:
    """The nearest one that is measured, rather before than after."""
    before = (one for one in reversed(candidates[:place]) if one in known)
    after = (one for one in candidates[place + 1 :] if one in known)
    return next(before, None) or next(after, None)


def _apart(*names: str | None) -> tuple[str, ...]:
    """Each name once."""
    return tuple(dict.fromkeys(name for name in names if name is not None))
