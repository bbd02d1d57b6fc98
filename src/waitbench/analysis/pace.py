"""Rounds -> the same rounds, as if all runs had been on CPUs of one pace.

Where a neighbour on the same core comes and goes, what a wake-up costs varies from run to run, and
how long a fixed piece of work takes meanwhile (``system.pace``) tells much of that. So the pace is
a control variate (S. Lavenberg and P. Welch, "A perspective on the use of control variables to
increase the efficiency of Monte Carlo simulations", Management Science 27, 1981): the slope of the
logarithm of a cost on that of the pace, within each revision, is estimated, and what it explains is
subtracted. No round decides how it is adjusted itself: its slope is that of all others, so that the
error of the slope scatters what is left, and its interval has it.

That is fair while the pace does not depend on which revision runs. A candidate that burns another
CPU of the same core can slow the work a little, too. So the ratio of a comparison is moved by no
more than 10 %, in either direction; and nothing is moved of what uses much of a core.
"""

import math
from collections.abc import Sequence
from itertools import chain
from statistics import median

from waitbench.analysis.outliers import unusual_beyond
from waitbench.analysis.rounds import Round
from waitbench.analysis.statistics import log_ratios
from waitbench.model.metrics import Metric

FEWEST = 6
"""With fewer rounds, nothing is adjusted."""
_STEEPEST = 4.0
"""CPUs whose memory is slow, too, make a wake-up dearer than they make the fixed work longer."""
_FURTHEST = math.log(1.1)
_LEAST_SCATTER = 1e-9


def is_known(rounds: Sequence[Round]) -> bool:
    """Whether the pace is known of so many rounds that it tells something."""
    return len(rounds) >= FEWEST and all(one.paces for one in rounds)


def at_equal_pace(rounds: Sequence[Round], metric: Metric) -> list[Round]:
    """The rounds with every cost as at the mean pace; as they are where some lack the pace."""
    if not is_known(rounds):
        return list(rounds)
    scenarios = [
        _adjusted(
            [one.pairs[place] for one in rounds], [one.paces[place] for one in rounds], metric
        )
        for place in range(len(rounds[0].pairs))
    ]
    return [
        one._replace(
            logs=tuple(log_ratios(pairs, metric)),
            rises=tuple(ours - theirs for theirs, ours in pairs),
            pairs=pairs,
        )
        for one, pairs in zip(rounds, zip(*scenarios, strict=True), strict=True)
    ]


Pair = tuple[float, float]
"""Of the baseline and of the candidate."""


def _adjusted(costs: Sequence[Pair], paces: Sequence[Pair], metric: Metric) -> list[Pair]:
    """The costs of one scenario, by round, at the mean pace of all its runs."""
    logs = [tuple(math.log(max(one, metric.floor)) for one in pair) for pair in costs]
    slow = [tuple(map(math.log, pair)) for pair in paces]
    usual = [_usual([pair[side] for pair in logs]) for side in (0, 1)]
    middle = math.fsum(chain.from_iterable(slow)) / (2 * len(slow))
    slopes = _slopes_of_others(logs, slow, usual)
    moved = math.fsum(
        slope * (ours - theirs) for slope, (theirs, ours) in zip(slopes, slow, strict=True)
    ) / len(slow)
    part = min(1.0, _FURTHEST / abs(moved)) if moved else 1.0
    return [
        (
            cost[0] * math.exp(-part * slope * (pace[0] - middle)),
            cost[1] * math.exp(-part * slope * (pace[1] - middle)),
        )
        for cost, pace, slope in zip(costs, slow, slopes, strict=True)
    ]


def _slopes_of_others(
    logs: Sequence[Sequence[float]],
    slow: Sequence[Sequence[float]],
    usual: Sequence[Sequence[bool]],
) -> list[float]:
    """For each round, the slope within revisions over all other rounds."""
    sides = [
        _sums([pair[side] for pair in slow], [pair[side] for pair in logs], usual[side])
        for side in (0, 1)
    ]
    return [
        _slope(
            math.fsum(squares[number] for squares, _ in sides),
            math.fsum(products[number] for _, products in sides),
        )
        for number in range(len(logs))
    ]


def _sums(
    slow: Sequence[float], logs: Sequence[float], usual: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """One revision's sums of squares and of products about its means, without each round in turn.

    Leaving out one of ``n`` values takes ``n / (n - 1)`` times its own share from a sum.
    """
    count = sum(usual)
    at, of = (
        math.fsum(value for value, is_usual in zip(values, usual, strict=True) if is_usual) / count
        for values in (slow, logs)
    )
    away = [
        (x - at, y - of) if is_usual else (0.0, 0.0)
        for x, y, is_usual in zip(slow, logs, usual, strict=True)
    ]
    squares = math.fsum(x * x for x, _ in away)
    products = math.fsum(x * y for x, y in away)
    own = count / (count - 1)
    return [squares - own * x * x for x, _ in away], [products - own * x * y for x, y in away]


def _slope(squares: float, products: float) -> float:
    # What is left of rounding is no scatter.
    if squares < _LEAST_SCATTER:
        return 0.0
    return min(max(products / squares, 0.0), _STEEPEST)


def _usual(logs: Sequence[float]) -> list[bool]:
    """Which of one revision's costs are no outliers: these say nothing of the pace."""
    middle = median(logs)
    far = unusual_beyond(logs)
    return [abs(one - middle) <= far for one in logs]
