"""The same comparison on several machines -> what holds for all of them, and where they disagree.

Rounds of two machines are never put together: the ratio of a candidate to the baseline belongs to a
machine. What holds for machines like these is the mean of the machines' logarithms, with Student's
interval over machines, however well each of them knows its own: the random-effects model with equal
weights (J. Shuster, "Empirical vs natural weighting in random effects meta-analysis", Statistics in
Medicine 29, 2010). The usual weights, by each machine's precision and a variance between machines
after DerSimonian and Laird, with the interval of Hartung and Knapp, cover the truth in as few as
84 % of cases with three machines of which some are noisier than others; the mean's in 94.7 % or
more (``machine_intervals.py``, docs/trials/machine-intervals.txt).

Two machines disagree where the difference of their ratios, in units of its own standard error,
exceeds Student's t with the fewer degrees of freedom of the two. Whatever their variances and
numbers of rounds, that errs no more often than it says (M. Mickey and M. Brown, "Bounds on the
distribution functions of the Behrens-Fisher statistic", Annals of Mathematical Statistics 37,
1966). Welch's degrees of freedom are right on average and not in the tail that many ratios ask for:
where gates stop after 3 and 30 rounds they err up to 19 times as often. The allowed error is
shared by all pairs of machines (Bonferroni), and by all ratios (Holm): the chance that any
disagreement is claimed although there is none is at most ``ALPHA``, for the whole report.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from waitbench.analysis.distributions import t_above, t_quantile
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import CONFIDENCE, Comparison, Estimate, geometric_mean, holm

SHOWN = ("steady", "cpu", "system", "real")
"""The metrics that machines are compared by."""
_LEAST_VARIANCE = 1e-12
"""Counts may be equal in all rounds; a machine's ratio is not known for ever then."""


@dataclass(frozen=True, kw_only=True)
class AcrossMachines:
    """One metric of one candidate in one scenario, on each of several machines."""

    scenario: str
    label: str
    metric: str
    """Its name."""
    ratios: tuple[Estimate | None, ...]
    """To the baseline, of each machine in their order; ``None`` where it has none."""
    pooled: Estimate
    """Of machines like these; its count is that of machines. Without interval below two."""
    p_value: float | None
    """The chance of two machines as far apart, or further, if all agree.

    ``None`` with fewer than two machines that know their noise.
    """
    apart: tuple[int, int] | None
    """The places of the two that differ most clearly; that with the lower ratio first."""
    disagree: bool = False
    """Whether the machines certainly do not have the same ratio."""


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What a machine says for itself."""

    place: int
    log: float
    variance: float
    """Of ``log``."""
    freedom: int


def across(machines: Sequence[Sequence[Comparison]]) -> tuple[AcrossMachines, ...]:
    """Compares what each machine says of the same scenarios and revisions."""
    found = list(_all(machines))
    tested = [one.p_value for one in found if one.p_value is not None]
    certain = iter(holm(tested, ALPHA))
    return tuple(replace(one, disagree=one.p_value is not None and next(certain)) for one in found)


def _all(machines: Sequence[Sequence[Comparison]]) -> Iterator[AcrossMachines]:
    by_name = [{one.scenario: one for one in comparisons} for comparisons in machines]
    for scenario in dict.fromkeys(name for of in by_name for name in of):
        comparisons = [of.get(scenario) for of in by_name]
        labels = dict.fromkeys(
            row.label for one in comparisons if one is not None for row in one.rows[1:]
        )
        for label in labels:
            for metric in SHOWN:
                ratios = tuple(_ratio(one, label, metric) for one in comparisons)
                if any(ratio is not None for ratio in ratios):
                    yield _across(scenario, label, metric, ratios)


def _ratio(comparison: Comparison | None, label: str, metric: str) -> Estimate | None:
    if comparison is None:
        return None
    return next((row.ratios.get(metric) for row in comparison.rows if row.label == label), None)


def _across(
    scenario: str, label: str, metric: str, ratios: tuple[Estimate | None, ...]
) -> AcrossMachines:
    known = [
        _known(place, ratio)
        for place, ratio in enumerate(ratios)
        if ratio is not None and ratio.high is not None
    ]
    pairs = {pair: _p_value(*pair) for pair in combinations(known, 2)}
    apart = min(pairs, key=lambda pair: pairs[pair], default=None)
    return AcrossMachines(
        scenario=scenario,
        label=label,
        metric=metric,
        ratios=ratios,
        pooled=geometric_mean([math.log(ratio.value) for ratio in ratios if ratio is not None]),
        p_value=None if apart is None else min(1.0, pairs[apart] * len(pairs)),
        apart=None if apart is None else _places(*apart),
    )


def _known(place: int, ratio: Estimate) -> _Known:
    """What its interval says of its variance."""
    assert ratio.high is not None, "there are two rounds or more"
    log, freedom = math.log(ratio.value), ratio.count - 1
    error = (math.log(ratio.high) - log) / t_quantile((1 + CONFIDENCE) / 2, freedom)
    return _Known(place=place, log=log, variance=max(error**2, _LEAST_VARIANCE), freedom=freedom)


def _p_value(one: _Known, other: _Known) -> float:
    """The most that the chance of such a distance may be, both ways."""
    error = math.sqrt(one.variance + other.variance)
    return 2 * t_above(abs(one.log - other.log) / error, min(one.freedom, other.freedom))


def _places(one: _Known, other: _Known) -> tuple[int, int]:
    low, high = sorted((one, other), key=lambda known: known.log)
    return low.place, high.place
