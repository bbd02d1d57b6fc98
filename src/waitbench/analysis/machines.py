"""The same comparison on several machines -> what holds for all of them, and where they disagree.

Rounds of two machines are never put together: the ratio of a candidate to the baseline belongs to a
machine. What holds for machines like these is the mean of the machines' logarithms, with Student's
interval over machines, however well each of them knows its own: the random-effects model with equal
weights (J. Shuster, "Empirical vs natural weighting in random effects meta-analysis", Statistics in
Medicine 29, 2010). The usual weights, by each machine's precision and a variance between machines
after DerSimonian and Laird, with the interval of Hartung and Knapp, cover the truth in as few as
84 % of cases with three machines of which some are noisier than others; the mean's in 94.7 % or
more (``benchmarks/machine_intervals.py``, docs/trials/machine-intervals.txt).

Two machines disagree where Welch's test of their ratios says so (B. Welch, "The generalization of
'Student's' problem when several different population variances are involved", Biometrika 34,
1947). Cochran's Q, which takes each machine's variance for known, would say so of more than a
third of five machines that agree, after three rounds. The allowed error is shared by all pairs of
machines (Bonferroni), and by all ratios (S. Holm, "A simple sequentially rejective multiple test
procedure", Scandinavian Journal of Statistics 6, 1979): the chance that any disagreement is claimed
although there is none is about ``ALPHA``, for the whole report.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from waitbench.analysis.distributions import t_above, t_quantile
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import CONFIDENCE, Comparison, Estimate, geometric_mean

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
    inconsistency: float | None
    """Which share of how the machines differ is more than their noise: I², 0 to 1.

    J. Higgins and S. Thompson, "Quantifying heterogeneity in a meta-analysis", Statistics in
    Medicine 21, 2002. ``None`` with fewer than two machines that know their noise.
    """
    p_value: float | None
    """The chance of two machines as far apart, or further, if all agree; ``None`` likewise."""
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
    certain = _certain([one.p_value for one in found])
    return tuple(replace(one, disagree=it) for one, it in zip(found, certain, strict=True))


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
    if comparison is None or (metric == "steady" and not comparison.steady_compares):
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
        inconsistency=_inconsistency(known) if pairs else None,
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
    """Welch's test, both ways."""
    variance = one.variance + other.variance
    doubt = one.variance**2 / one.freedom + other.variance**2 / other.freedom
    return 2 * t_above(abs(one.log - other.log) / math.sqrt(variance), variance**2 / doubt)


def _places(one: _Known, other: _Known) -> tuple[int, int]:
    low, high = sorted((one, other), key=lambda known: known.log)
    return low.place, high.place


def _inconsistency(known: Sequence[_Known]) -> float:
    weights = [1 / one.variance for one in known]
    of_each = list(zip(weights, known, strict=True))
    centre = math.fsum(weight * one.log for weight, one in of_each) / math.fsum(weights)
    cochran = math.fsum(weight * (one.log - centre) ** 2 for weight, one in of_each)
    return max(0.0, 1 - (len(known) - 1) / cochran) if cochran else 0.0


def _certain(p_values: Sequence[float | None]) -> list[bool]:
    """Which of these are not by chance, with one error for all: Holm's procedure."""
    certain = [False] * len(p_values)
    ordered = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    for done, (p, place) in enumerate(ordered):
        if p * (len(ordered) - done) > ALPHA:
            break
        certain[place] = True
    return certain
