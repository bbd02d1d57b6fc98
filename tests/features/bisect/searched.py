"""Searches over made-up histories, measured without noise unless rounds are given."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from waitbench.features.bisect.search import Search, Step, judge
from waitbench.model.revision import LoggedCommit, Origin, Point, Source

MARGIN = 0.10
HOSTILE = "<b>a|b\u202e`$(x)`"
"""A subject as anybody may write it."""


def history(points: int, *rises: tuple[int, float]) -> list[float]:
    """Logarithms of the costs of points, with rises, as shares, from some points on."""
    return [math.fsum(math.log1p(rise) for at, rise in rises if at <= n) for n in range(points)]


def begun(points: int, *, faster: bool = False) -> Search:
    """A search over commits that are called c0, c1, …, before its first step."""
    return Search(
        points=tuple(map(_commit, range(points))),
        margin=MARGIN,
        faster=faster,
    )


def search(
    costs: Sequence[float],
    *,
    faster: bool = False,
    unbuildable: Iterable[int] = (),
    steps: int = 99,
) -> Search:
    """Searches as a runner does, every step measured in fifteen equal rounds."""
    so_far = begun(len(costs), faster=faster)
    while (points := so_far.next()) and len(so_far.steps) < steps:
        failing = set(points).intersection(unbuildable)
        if failing:
            so_far = so_far.without(failing.pop(), "it does not build")
        else:
            rounds = [[costs[point] for point in points]] * 15
            step = judged(so_far, points, rounds)
            so_far = replace(so_far, steps=(*so_far.steps, step))
    return so_far


def judged(
    search: Search,
    points: tuple[int, ...],
    rounds: Sequence[Sequence[float]],
    disturbed: Sequence[bool] = (),
) -> Step:
    """Judges logarithms of the costs of points in the rounds of one scenario."""
    costs = [[[math.exp(log) for log in points]] for points in rounds]
    return judge(search, points, costs, disturbed)


def _commit(number: int) -> Point:
    identity = f"{number:040x}"
    logged = LoggedCommit(
        commit=identity,
        parents=(),
        subject=HOSTILE,
        author="A. Author",
        date="2026-01-01T00:00:00+00:00",
    )
    return Point(label=f"c{number}", source=Source(Origin.SOURCE, identity), commit=logged)
