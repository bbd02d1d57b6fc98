"""Sittings: what each says of some revisions, and all of them as a graph of revisions. Pure.

A sitting's rounds follow a two-way layout: the logarithm of a run's cost is that of the round, plus
that of the revision, plus noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

_PRIOR_FREEDOM = 4.0
"""What the noise of all sittings counts beside a sitting's own, in degrees of freedom."""
_LEAST_NOISE = 1e-8
"""The least variance of a run: counts may be equal in all rounds, and are not known for ever."""
_FEWEST_ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """What one comparison says of some revisions in one scenario."""

    name: str
    machine: str
    revisions: tuple[str, ...]
    logs: tuple[float, ...]
    """Of each revision, the mean over the rounds of the logarithm of its cost."""
    rounds: int
    squares: float
    """The sum of squares that round and revision do not explain."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of ``squares``."""
        return (self.rounds - 1) * (len(self.revisions) - 1)


def sitting(
    name: str, machine: str, revisions: Sequence[str], rounds: Sequence[Sequence[float]]
) -> Sitting | None:
    """What the rounds of a comparison say; ``rounds`` has a logarithm for each of ``revisions``.

    ``None`` where there is nothing to compare: below two rounds, or two revisions.
    """
    if len(rounds) < _FEWEST_ROUNDS or len(revisions) < 2:
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
        revisions=tuple(revisions),
        logs=logs,
        rounds=len(rounds),
        squares=squares,
    )


def connected(sittings: Sequence[Sitting]) -> list[list[Sitting]]:
    """The sittings that chains of shared revisions join, group by group."""
    groups: list[tuple[set[str], list[Sitting]]] = []
    for one in sittings:
        names, members, apart = set(one.revisions), [one], []
        for group in groups:
            if names.isdisjoint(group[0]):
                apart.append(group)
            else:
                names, members = group[0] | names, group[1] + members
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def names_in(sittings: Sequence[Sitting]) -> list[str]:
    """The revisions that any of some sittings holds."""
    return list(dict.fromkeys(name for one in sittings for name in one.revisions))


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Sittings as matrices: rows are sittings, columns revisions."""

    members: Any
    """Sparse; 1 where a sitting holds a revision."""
    centred: Any
    """Sparse; the logarithms of a sitting, less their mean."""
    sizes: "Matrix"
    """The number of revisions of each sitting."""
    noise: "Matrix"
    """The variance of a sitting's figures, without that between sittings."""

    @classmethod
    def of(cls, revisions: Sequence[str], sittings: Sequence[Sitting]) -> "Graph":
        import numpy as np
        from scipy.sparse import csr_array

        index = {name: number for number, name in enumerate(revisions)}
        rows = [row for row, one in enumerate(sittings) for _ in one.revisions]
        columns = [index[name] for one in sittings for name in one.revisions]
        means = (math.fsum(one.logs) / len(one.logs) for one in sittings)
        centred = [
            log - mean for one, mean in zip(sittings, means, strict=True) for log in one.logs
        ]
        shape = (len(sittings), len(revisions))
        return cls(
            members=csr_array((np.ones(len(rows)), (rows, columns)), shape),
            centred=csr_array((centred, (rows, columns)), shape),
            sizes=np.array([len(one.revisions) for one in sittings], float),
            noise=np.array(_noise(sittings)) / [one.rounds for one in sittings],
        )

    @property
    def contradictions(self) -> int:
        """The ratios that were measured beyond those that the costs of the revisions need."""
        sittings, revisions = self.members.shape
        return int(self.sizes.sum() - sittings - (revisions - 1))

    def weights(self, between: float) -> "Matrix":
        """The precision of each sitting's figures."""
        import numpy as np

        return np.reciprocal(self.noise + between / 2)

    def laplacian(self, weights: "Matrix") -> "Matrix":
        """The matrix of the normal equations, in which each sitting has a level of its own."""
        import numpy as np

        pairs = (self.members.T * (weights / self.sizes)) @ self.members
        found: Matrix = np.subtract(np.diag(self.members.T @ weights), pairs.toarray())
        return found

    def inverse(self, weights: "Matrix") -> "Matrix":
        """The pseudo-inverse of the ``laplacian``."""
        import numpy as np

        level = 1 / self.members.shape[1]
        found: Matrix = np.subtract(np.linalg.inv(self.laplacian(weights) + level), level)
        return found

    def logs(self, weights: "Matrix") -> "Matrix":
        """The costs that fit best, of mean 0."""
        import numpy as np

        right = self.centred.T @ weights
        found: Matrix = np.linalg.solve(self.laplacian(weights) + 1 / len(right), right)
        return found

    def misfit(self, weights: "Matrix") -> float:
        """The weighted sum of squares by which the sittings contradict each other."""
        whole = float(weights @ self._squares)
        return whole - float((self.centred.T @ weights) @ self.logs(weights))

    @cached_property
    def _squares(self) -> "Matrix":
        """The sum of squares of each sitting's figures."""
        import numpy as np

        return np.asarray(self.centred.power(2).sum(axis=1)).ravel()


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
