"""Searches over made-up histories, measured without noise unless rounds are given."""

import math
from collections.abc import Iterable, Sequence

from waitbench.analysis.bisection import Search, answer

MARGIN = 0.10


def history(points: int, *rises: tuple[int, float]) -> list[float]:
    """Logarithms of what points cost, with rises from these points on, as shares."""
    return [math.fsum(math.log1p(rise) for at, rise in rises if at <= n) for n in range(points)]


def search(
    costs: Sequence[float],
    *,
    faster: bool = False,
    unbuildable: Iterable[int] = (),
    steps: int = 99,
) -> Search:
    """Searches as a runner does, every step measured in six equal rounds."""
    so_far = Search(points=len(costs), margin=MARGIN, faster=faster)
    while (step := so_far.next()) and len(so_far.answers) < steps:
        failing = set(step.points).intersection(unbuildable)
        if failing:
            so_far = so_far.without(failing.pop())
        else:
            rounds = [[costs[point] for point in step.points]] * 6
            so_far = so_far.answered(step, answer(step, rounds))
    return so_far
