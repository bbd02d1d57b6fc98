"""Rare bad runs: whether a candidate has more of them than the baseline.

Waits break by races: in one run of five, say. A trimmed mean discards such runs by design. So the
tail is judged beside the centre, over all rounds of all scenarios of a group together.

*An alarm* is an exact test. If the candidate costs at most the margin more, it makes no difference
which of the two runs of a round, the baseline's raised by the margin, is called whose: the sign of
each difference is a fair coin (R. Fisher, "The design of experiments", 1935; E. Pitman,
"Significance tests which may be applied to samples from any populations", 1937). The sum of the
differences is compared with all sums that the coins could give; no curve is assumed. One run that
costs ever so much is one coin. The distribution of the sum is worked out by adding one difference
after the other (M. Pagano and D. Tritchler, "On obtaining permutation distributions in polynomial
time", 1983), with differences in steps of a 400th of the largest.

*That there are no such runs* is said by their number: a run is extreme if it costs more than
twice what is usual in its scenario and more than all runs of the baseline but one. The upper bound
of how much the candidate's rate lies above the baseline's (distributions.py) must lie below
``RARE``: with none in 16 runs it does. A single scenario has too few runs at the first looks for
any answer, so its error is kept for later ones: none in 20 runs will do, and one in 30.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from waitbench.analysis.distributions import rate_rise_at_most
from waitbench.analysis.sequential import ALPHA, TAIL_PART

RARE = 0.2
"""The share of bad runs that must not be missed."""
LOOKS = (8, 12, 20, 30, 50, 100, 200, 400)
"""Numbers of rounds after which one looks: seldom, as each look needs as many bad runs again."""
_ALARM_SHARES = (0.1, 0.15, 0.2, 0.4, 0.05, 0.05, 0.025, 0.025)
_CLEAR_SHARES = (0.65, 0.1, 0.1, 0.1, 0.02, 0.01, 0.01, 0.01)
"""The parts of each error that are spent at the looks."""
_CLEAR_SHARES_OF_ONE = (0.0, 0.0, 0.25, 0.65, 0.05, 0.02, 0.02, 0.01)
"""The same where a single scenario is judged."""

_EXTREME = 2.0
_STEPS = 400

Pair = tuple[float, float]
"""What the baseline and the candidate cost in one round of one scenario."""


@dataclass(frozen=True, kw_only=True)
class Tail:
    """The rare bad runs of a candidate, as of one look."""

    rounds: int
    extreme: int
    extreme_of_baseline: int
    runs: int
    """Of each of the two."""
    means: float
    """The ratio of the means: a bad run counts in full."""
    is_worse: bool
    """For certain: the candidate has more, or worse, bad runs than the margin allows."""
    is_clear: bool
    """For certain: the share of extreme runs is less than ``RARE`` above the baseline's."""


def judge(
    by_scenario: Sequence[Sequence[Pair]], *, margin: float, hypotheses: int, most_rounds: int
) -> Tail | None:
    """Judges the paired runs of each scenario, in order of rounds, at the last certain look.

    So many hypotheses share the error of an alarm. Returns ``None`` before the first look.
    """
    rounds = max(map(len, by_scenario), default=0)
    last = None
    for number, look in reversed([*enumerate(LOOKS)]):
        if look > min(rounds, most_rounds):
            continue
        alarm = ALPHA * TAIL_PART * _ALARM_SHARES[number] / hypotheses
        clear = ALPHA * (_CLEAR_SHARES if len(by_scenario) > 1 else _CLEAR_SHARES_OF_ONE)[number]
        seen = [pairs[:look] for pairs in by_scenario if pairs]
        found = _judged(seen, look, margin, alarm, clear)
        if found.is_worse or found.is_clear:
            return found
        last = last or found
    return last


def looks_left(rounds: int, most_rounds: int) -> bool:
    """Whether there is a look between so many rounds and the last."""
    return any(rounds < look <= most_rounds for look in LOOKS)


def _judged(
    by_scenario: Sequence[Sequence[Pair]], rounds: int, margin: float, alarm: float, clear: float
) -> Tail:
    scaled: list[Pair] = []
    for pairs in by_scenario:
        usual = median(value for pair in pairs for value in pair) or 1.0
        scaled += [(theirs / usual, ours / usual) for theirs, ours in pairs]
    differences = [ours - (1 + margin) * theirs for theirs, ours in scaled]
    theirs, ours = ([pair[place] for pair in scaled] for place in (0, 1))
    limit = max(_EXTREME, *sorted(theirs)[-2:-1])
    extreme, of_baseline = (sum(value > limit for value in one) for one in (ours, theirs))
    baseline = math.fsum(theirs)
    return Tail(
        rounds=rounds,
        extreme=extreme,
        extreme_of_baseline=of_baseline,
        runs=len(differences),
        means=math.fsum(ours) / baseline if baseline else math.inf,
        is_worse=chance_of_sum(differences) <= alarm,
        is_clear=rate_rise_at_most(extreme, of_baseline, len(differences), clear) < RARE,
    )


def chance_of_sum(differences: Sequence[float]) -> float:
    """The chance that fair coins for signs give a sum of at least that of these differences."""
    # Here: not every command that could judge does.
    import numpy as np

    largest = max(map(abs, differences), default=0.0)
    if math.fsum(differences) <= 0:
        return 1.0
    steps = [round(_STEPS * value / largest) for value in differences]
    chances = np.ones(1)
    for step in map(abs, steps):
        if step:
            longer = np.zeros(len(chances) + step)
            longer[: len(chances)] = chances / 2
            longer[step:] += chances / 2
            chances = longer
    # Each coin adds its step or nothing: what is observed is the sum of the positive ones.
    observed = sum(step for step in steps if step > 0)
    return float(chances[observed:].sum())
