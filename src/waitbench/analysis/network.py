"""Comparisons that share revisions -> the cost of each revision relative to one, the anchor. Pure.

The CPU of one revision differs from sitting to sitting by more than most revisions differ from each
other, so absolute figures of two sittings say nothing together. Ratios within one sitting do: two
comparisons that share a revision tell how all their revisions compare. This is network
meta-analysis (G. Lu and A. Ades, "Assessing evidence inconsistency in mixed treatment comparisons",
J. Am. Stat. Assoc. 101, 2006), here by weighted least squares on a graph (G. Rücker, "Network
meta-analysis, electrical networks and graph theory", Research Synthesis Methods 3, 2012). A
sitting's rounds follow a two-way layout: the logarithm of a run's cost is that of the round, plus
that of the revision, plus noise.

Beyond the noise of its runs, each revision of each sitting is off by a normal amount of variance
``between / 2``, so that a ratio of two varies by ``between`` from sitting to sitting. That variance
is estimated from how far the sittings contradict each other (R. DerSimonian and R. Kacker,
"Random-effects model for meta-analysis of clinical trials: an update", Contemporary Clinical Trials
28, 2007: the method of Paule and Mandel), and is part of each interval.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from waitbench.analysis.distributions import t_quantile
from waitbench.analysis.sittings import Sitting
from waitbench.analysis.statistics import CONFIDENCE, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Places = NDArray[np.int64]

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
_PRIOR_FREEDOM = 4.0
"""What the noise of all sittings counts beside a sitting's own, in degrees of freedom."""
_LEAST_NOISE = 1e-8
"""The least variance of a run: counts may be equal in all rounds, and are not known for ever."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Sittings as arrays. An arm is one revision in one sitting."""

    size: int
    """The number of revisions."""
    sitting_of: "Places"
    """Of each arm."""
    revision_of: "Places"
    """Of each arm."""
    centred: "Matrix"
    """The logarithm of each arm, less the mean of its sitting."""
    sizes: "Matrix"
    """The number of arms of each sitting."""
    noise: "Matrix"
    """The variance of a sitting's figures, without that between sittings."""

    @classmethod
    def of(cls, revisions: Sequence[str], sittings: Sequence[Sitting]) -> "Graph":
        """The graph of some sittings, whose revisions are numbered as they are given."""
        import numpy as np

        index = {name: number for number, name in enumerate(revisions)}
        sizes = np.array([len(one.revisions) for one in sittings])
        sitting_of = np.repeat(np.arange(len(sittings)), sizes)
        logs = np.array([log for one in sittings for log in one.logs])
        means = np.bincount(sitting_of, weights=logs) / sizes
        return cls(
            size=len(revisions),
            sitting_of=sitting_of,
            revision_of=np.array([index[name] for one in sittings for name in one.revisions]),
            centred=logs - means[sitting_of],
            sizes=sizes.astype(float),
            noise=np.array(_noise(sittings)) / [one.rounds for one in sittings],
        )

    @property
    def contradictions(self) -> int:
        """The ratios that were measured beyond those that the costs of the revisions need."""
        return len(self.sitting_of) - len(self.sizes) - (self.size - 1 - int(self.parts.max()))

    def weights(self, between: float) -> "Matrix":
        """The precision of each sitting's figures."""
        import numpy as np

        found: Matrix = np.reciprocal(self.noise + between / 2)
        return found

    def laplacian(self, weights: "Matrix") -> "Matrix":
        """The matrix of the normal equations, in which each sitting has a level of its own."""
        import numpy as np

        cells, sitting_of = self._pairs
        shares = (weights / self.sizes)[sitting_of]
        pairs = np.bincount(cells, weights=shares, minlength=self.size**2)
        own = np.bincount(self.revision_of, weights=weights[self.sitting_of])
        return np.asarray(np.diag(own) - pairs.reshape(self.size, self.size), np.float64)

    def inverse(self, weights: "Matrix") -> "Matrix":
        """The pseudo-inverse of the ``laplacian``."""
        import numpy as np

        levels = self._levels
        return np.asarray(np.linalg.inv(self.laplacian(weights) + levels) - levels, np.float64)

    def logs(self, weights: "Matrix") -> "Matrix":
        """The costs that fit best, of mean 0 in each part."""
        import numpy as np

        matrix = self.laplacian(weights) + self._levels
        return np.asarray(np.linalg.solve(matrix, self._right_side(weights)), np.float64)

    def misfit(self, weights: "Matrix") -> float:
        """The weighted sum of squares by which the sittings contradict each other."""
        whole = float(weights[self.sitting_of] @ self.centred**2)
        return whole - float(self._right_side(weights) @ self.logs(weights))

    def _right_side(self, weights: "Matrix") -> "Matrix":
        import numpy as np

        figures = self.centred * weights[self.sitting_of]
        return np.asarray(np.bincount(self.revision_of, weights=figures), np.float64)

    @cached_property
    def parts(self) -> "Places":
        """The number of the part that each revision is in: no sitting joins one with another."""
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        nodes = self.size + len(self.sizes)
        ends = self.revision_of, self.size + self.sitting_of
        _, found = connected_components(coo_array((np.ones(len(ends[0])), ends), (nodes, nodes)))
        return np.asarray(found[: self.size], np.int64)

    @cached_property
    def _levels(self) -> "Matrix":
        """The projection on the levels of the parts, which nothing tells of."""
        import numpy as np

        alike = self.parts[:, None] == self.parts[None, :]
        found: Matrix = np.divide(alike, alike.sum(axis=0))
        return found

    @cached_property
    def _pairs(self) -> tuple["Places", "Places"]:
        """Every pair of arms of a sitting: its cell in the laplacian, and its sitting."""
        import numpy as np

        counts = self.sizes.astype(int)
        firsts = np.cumsum(counts) - counts
        cells, sitting_of = [], []
        for count in np.unique(counts):
            (alike,) = np.nonzero(counts == count)
            arms = self.revision_of[firsts[alike][:, None] + np.arange(count)]
            cells.append((arms[:, :, None] * self.size + arms[:, None, :]).ravel())
            sitting_of.append(np.repeat(alike, count * count))
        return np.concatenate(cells), np.concatenate(sitting_of)


@dataclass(frozen=True)
class Group:
    """Sittings that chains of shared revisions join."""

    sittings: tuple[Sitting, ...]

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """All that any of them holds."""
        return tuple(dict.fromkeys(name for one in self.sittings for name in one.revisions))

    @cached_property
    def graph(self) -> Graph:
        """Them as arrays, the revisions numbered as above."""
        return Graph.of(self.revisions, self.sittings)


def connected(sittings: Sequence[Sitting]) -> list[Group]:
    """The sittings, group by group."""
    leader: dict[str, str] = {}

    def lead(name: str) -> str:
        while (above := leader.setdefault(name, name)) != name:
            leader[name] = leader[above]
            name = above
        return name

    for one in sittings:
        first = lead(one.revisions[0])
        for name in one.revisions[1:]:
            leader[lead(name)] = first
    groups: dict[str, list[Sitting]] = {}
    for one in sittings:
        groups.setdefault(lead(one.revisions[0]), []).append(one)
    return [Group(tuple(group)) for group in groups.values()]


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


def _noise(sittings: Sequence[Sitting]) -> list[float]:
    """The variance of a run in each sitting: its own, drawn towards that of all.

    A few rounds tell a variance badly, and one that is too small by chance would give a sitting all
    the weight (G. Smyth, "Linear models and empirical Bayes methods", Stat. Appl. Genet. Mol. Biol.
    3, 2004).
    """
    freedom = sum(one.freedom for one in sittings)
    pooled = max(math.fsum(one.squares for one in sittings) / freedom, _LEAST_NOISE)
    return [
        (_PRIOR_FREEDOM * pooled + one.squares) / (_PRIOR_FREEDOM + one.freedom) for one in sittings
    ]
