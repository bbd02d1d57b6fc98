"""Searches over made-up histories, measured without noise unless rounds are given."""

import math
from collections.abc import Iterable, Sequence

from waitbench.analysis.bisection import Search
from waitbench.analysis.bisection_steps import StepAnswer, answer

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
    so_far = Search.begin(points=len(costs), margin=MARGIN, faster=faster)
    while (step := so_far.next()) and len(so_far.answers) < steps:
        failing = set(step.points).intersection(unbuildable)
        if failing:
            so_far = so_far.without(failing.pop())
        else:
            so_far = so_far.answered(step, measured(so_far, costs))
    return so_far


def measured(so_far: Search, costs: Sequence[float]) -> StepAnswer:
    """The answer of the next step after six equal rounds."""
    step = so_far.next()
    assert step is not None
    return answer(step, [[costs[point] for point in step.points]] * 6)
