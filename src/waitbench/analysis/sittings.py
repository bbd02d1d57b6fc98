"""Sittings: what each says of some revisions, and all of them as a graph of revisions. Pure.

A sitting's rounds follow a two-way layout: the logarithm of a run's cost is that of the round, plus
that of the revision, plus noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]
    Places = NDArray[np.int64]

_PRIOR_FREEDOM = 4.0
"""What the noise of all sittings counts beside a sitting's own, in degrees of freedom."""
_LEAST_NOISE = 1e-8
"""The least variance of a run: counts may be equal in all rounds, and are not known for ever."""
FEWEST_ROUNDS = 2
"""Below which a comparison tells nothing: one round has no variation."""


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """What one comparison says of some revisions in one scenario."""

    name: str
    machine: str
    """Its fingerprint."""
    conditions: str
    """What ratios may differ by: the machine and all else that is one in a sitting."""
    revisions: tuple[str, ...]
    logs: tuple[float, ...]
    """Of each revision, the mean over the rounds of the logarithm of its cost."""
    rounds: int
    squares: float
    """The sum of squares that round and revision do not explain."""
    runs: tuple[str, ...] = ()
    """Digests of its first revision's runs. Whatever has one of them is the same sitting."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of ``squares``."""
        return (self.rounds - 1) * (len(self.revisions) - 1)


def sitting(
    name: str,
    machine: str,
    revisions: Sequence[str],
    rounds: Sequence[Sequence[float]],
    *,
    conditions: str | None = None,
    runs: Sequence[str] = (),
) -> Sitting | None:
    """What the rounds of a comparison say; ``rounds`` has a logarithm for each of ``revisions``.

    ``conditions`` are the machine's, unless they are given. ``None`` where there is nothing to
    compare: below two rounds, or two revisions.
    """
    if len(rounds) < FEWEST_ROUNDS or len(revisions) < 2:
        return None
    logs = tuple(math.fsum(column) / len(rounds) for column in zip(*rounds, strict=True))
    grand = math.fsum(logs) / len(logs)
    squares = 0.0
    for one in rounds:
        level = math.fsum(one) / len(one)
        squares += math.fsum(
            (value - level - mean + grand) ** 2 for value, mean in zip(one, logs, strict=True)
        )
    return Sitting(
        name=name,
        machine=machine,
        conditions=machine if conditions is None else conditions,
        revisions=tuple(revisions),
        logs=logs,
        rounds=len(rounds),
        squares=squares,
        runs=tuple(runs),
    )


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
