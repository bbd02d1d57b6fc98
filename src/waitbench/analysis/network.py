"""Comparisons that share revisions -> the cost of each revision relative to one, the anchor. Pure.

The CPU of one revision differs from sitting to sitting by more than most revisions differ from each
other, so absolute figures of two sittings say nothing together. Ratios within one sitting do: two
comparisons that share a revision tell how all their revisions compare. This is network
meta-analysis (G. Lu and A. Ades, "Assessing evidence inconsistency in mixed treatment comparisons",
J. Am. Stat. Assoc. 101, 2006), here by weighted least squares on a graph (G. Rücker, "Network
meta-analysis, electrical networks and graph theory", Research Synthesis Methods 3, 2012).

Beyond the noise of its runs, each revision of each sitting is off by a normal amount of variance
``between / 2``, so that a ratio of two varies by ``between`` from sitting to sitting. That variance
is estimated from how far the sittings contradict each other (R. DerSimonian and R. Kacker,
"Random-effects model for meta-analysis of clinical trials: an update", Contemporary Clinical Trials
28, 2007: the method of Paule and Mandel), and is part of each interval.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.sittings import Group, Sitting
from waitbench.analysis.statistics import CONFIDENCE, Estimate

if TYPE_CHECKING:
    from waitbench.analysis.sittings import Matrix

_ASSUMED = 0.03**2
"""The variance between sittings, as long as they cannot contradict each other."""
_ASSUMED_FREEDOM = 2
"""What that counts beside the contradictions that there are."""
_TELLING = 10
"""So many contradictions under the same conditions tell more than all there are."""
_ENOUGH = 0.01
"""A share of the variance that is exact enough."""
_LEAST, _MOST = 1e-7, 4.0
"""Between these the variance is searched; the latter are ratios that scatter by e² each way."""


@dataclass(frozen=True)
class Between:
    """How a ratio of two revisions differs from sitting to sitting."""

    variance: float
    """Of its logarithm."""
    freedom: int
    """From how many contradictions that is known."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """Sittings joined by the revisions that they share."""

    group: Group
    anchor: str
    between: Between

    @property
    def revisions(self) -> tuple[str, ...]:
        """All that a chain of sittings joins with the anchor, itself included."""
        return self.group.revisions

    @property
    def sittings(self) -> tuple[Sitting, ...]:
        return self.group.sittings

    @cached_property
    def logs(self) -> "Matrix":
        """The logarithm of each revision's cost relative to the anchor: shape (revisions,)."""
        import numpy as np

        logs = self.group.graph.logs(self._weights)
        found: Matrix = np.subtract(logs, logs[self.revisions.index(self.anchor)])
        return found

    @cached_property
    def covariance(self) -> "Matrix":
        """The covariance of ``logs`` but for a common level: shape (revisions, revisions)."""
        within, between = self._covariances
        return within + between

    def ratio(self, candidate: str, baseline: str | None = None) -> Estimate:
        """The cost of one revision relative to another; to the anchor, if none is named.

        The count is that of the sittings which hold the candidate. Raises ``ValueError`` for a
        revision that is not in the network.
        """
        import numpy as np

        one = self.revisions.index(candidate)
        other = self.revisions.index(baseline or self.anchor)
        contrast = np.zeros(len(self.revisions))
        contrast[one] += 1
        contrast[other] -= 1
        value = float(contrast @ self.logs)
        half = self.half_width(contrast, (1 + CONFIDENCE) / 2)
        count = self._counts[candidate]
        return Estimate(math.exp(value), math.exp(value - half), math.exp(value + half), count)

    def half_width(self, contrast: "Matrix", share: float) -> float:
        """Half of the interval of a contrast of ``logs``, at a quantile of Student's t.

        The contrast is a weight for each revision; they add up to 0.
        """
        import numpy as np

        # Most contrasts are of two revisions out of hundreds.
        (places,) = np.nonzero(contrast)
        some, cells = contrast[places], np.ix_(places, places)
        within, between = (float(some @ part[cells] @ some) for part in self._covariances)
        total = within + between
        if total <= 0:
            return 0.0
        # F. Satterthwaite, "An approximate distribution of estimates of variance components",
        # Biometrics Bulletin 2, 1946.
        doubt = within**2 / self._freedom
        doubt += between**2 / self.between.freedom
        return t_quantile(share, total**2 / doubt) * math.sqrt(total)

    @cached_property
    def _freedom(self) -> int:
        return sum(sitting.freedom for sitting in self.sittings)

    @cached_property
    def _counts(self) -> Mapping[str, int]:
        return Counter(name for sitting in self.sittings for name in sitting.revisions)

    @cached_property
    def _weights(self) -> "Matrix":
        return self.group.graph.weights(self.between.variance)

    @cached_property
    def _covariances(self) -> tuple["Matrix", "Matrix"]:
        """What noise within sittings, and variance between them, make of that of ``logs``."""
        inverse = self.group.graph.inverse(self._weights)
        squared = self._weights**2
        within = self.group.graph.laplacian(squared * self.group.graph.noise)
        between = self.group.graph.laplacian(squared * (self.between.variance / 2))
        return inverse @ within @ inverse, inverse @ between @ inverse


def join(groups: Iterable[Group], anchor: str, between: Between) -> Network:
    """The network of one scenario. Raises ``ValueError`` where no sitting holds the anchor."""
    for group in groups:
        if anchor in group.revisions:
            return Network(group=group, anchor=anchor, between=between)
    raise ValueError(f"no sitting holds {anchor}")


def under(conditions: str, revision: str) -> str:
    """What a revision is called in ``by_conditions``."""
    return f"{revision} {conditions}"


def by_conditions(network: Network) -> Network:
    """The same sittings, but under other conditions a revision is another one.

    So what is said of revisions rests on sittings of the same conditions only, and those of
    different ones are in different parts. How sittings scatter is known from all of them together;
    how they contradict each other under the same conditions, once there is enough of that.
    """
    sittings = tuple(
        replace(one, revisions=tuple(under(one.conditions, name) for name in one.revisions))
        for one in network.sittings
    )
    group, between = Group(sittings), network.between
    if len(group.revisions) > len(network.revisions) and group.graph.contradictions >= _TELLING:
        between = between_of([group])
    return Network(group=group, anchor=group.revisions[0], between=between)


def between_of(groups: Iterable[Group]) -> Between:
    """How ratios differ from sitting to sitting, over all groups of all scenarios together.

    It is the variance with which sittings contradict each other as much as the model expects, drawn
    towards what is assumed: a few sittings may agree by chance.
    """
    graphs = [group.graph for group in groups]
    freedom = sum(graph.contradictions for graph in graphs)
    if not freedom:
        return Between(_ASSUMED, _ASSUMED_FREEDOM)

    def excess(variance: float) -> float:
        misfit = math.fsum(graph.misfit(graph.weights(variance)) for graph in graphs)
        return misfit - freedom + _ASSUMED_FREEDOM * (_ASSUMED / variance - 1)

    if excess(_LEAST) <= 0:
        found = _LEAST
    elif excess(_MOST) >= 0:
        found = _MOST
    else:
        from scipy.optimize import brentq

        # By logarithms, as it may be of any size; a percent more or less of it changes nothing.
        ends = math.log(_LEAST), math.log(_MOST)
        found = math.exp(brentq(lambda log: excess(math.exp(log)), *ends, xtol=_ENOUGH))
    return Between(found, freedom + _ASSUMED_FREEDOM)
