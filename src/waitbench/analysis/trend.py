"""A network of revisions in order of history -> the steps in it. Pure.

Between two steps, all revisions cost the same, as far as anything is claimed. A step is claimed at
a neighbourhood of revisions if the ratio of what comes after it to what came before, each up to the
next step, lies beyond the margin with its whole interval.

What a machine makes of a revision is its own: an old release may cost 15 % more than it should on
another CPU, kernel or Python. So only what sittings of the same conditions say of neighbours counts
for a step; see ``_Sides``. The interval is wider than that of one
ratio, as many neighbourhoods are looked at: by Bonferroni, all of a series together claim a step
that is not there with a chance of 5 % at most.

Steps are found one after the other, and each is placed anew when another one is known (the
sequential estimation of J. Bai, "Estimating multiple breaks one at a time", Econometric Theory 13,
1997), by generalized least squares: the ratios of a network depend on each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from waitbench.analysis.network import Network, by_conditions, connected, under
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Estimate

if TYPE_CHECKING:
    from waitbench.analysis.network import Matrix, Places

MARGIN = 0.05
"""What a step must exceed to be claimed, as a share."""
_NOTHING = 1e-12
_TRIED = 5
"""Places that are looked at exactly, of those that promise most."""
_PASSES = 10
"""How often all steps are placed anew, at most: they settle in two or three."""


@dataclass(frozen=True, kw_only=True)
class TrendStep:
    """From one revision on, everything costs more, or less, than before."""

    before: str
    """The last revision of before."""
    after: str
    """The first one that costs otherwise."""
    ratio: Estimate
    """After to before, with the interval that is corrected for all places looked at.

    The count is that of the sittings which each join both sides under their conditions, and one
    more if the others do so together, by way of the anchor for instance.
    """

    @property
    def provisional(self) -> bool:
        """Whether only one sitting says so: another one may have it otherwise."""
        return self.ratio.count < 2


def steps(
    network: Network, order: Sequence[str], margin: float = MARGIN, places: int | None = None
) -> tuple[TrendStep, ...]:
    """The steps in a series, in order.

    ``order`` are the revisions in order of history; those that are not in the network, and so
    cannot be compared, are left out. ``places`` is how many are looked at in all, where this is not
    the only search in the network.
    """
    known = set(network.revisions)
    names = [name for name in order if name in known]
    if len(names) < 2:
        return ()
    series = _Series.of(by_conditions(network), names, places or len(names) - 1)
    if not len(series.sides.nodes):
        return ()
    return series.described(series.found(math.log1p(margin)))


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """What conditions tell of which places of a history.

    A stretch is neighbours of the history that chains of sittings join under the same conditions.
    Each has a level of its own: what is beside a gap may be off by whatever its conditions make of
    it, and says nothing of a step in the gap.
    """

    nodes: "Places"
    """Revisions of the network, those of earlier places first."""
    places: "Places"
    """Of each node, its place in the history."""
    stretches: "Places"
    """Of each node, the number of its stretch."""

    @classmethod
    def of(cls, network: Network, names: Sequence[str]) -> "_Sides":
        import numpy as np

        index = {name: number for number, name in enumerate(network.revisions)}
        conditions = dict.fromkeys(one.conditions for one in network.sittings)
        parts = network.group.graph.parts
        held: dict[int, list[tuple[int, int]]] = {}
        for place, name in enumerate(names):
            for one in conditions:
                if (node := index.get(under(one, name))) is not None:
                    held.setdefault(int(parts[node]), []).append((place, node))
        stretches: list[list[tuple[int, int]]] = []
        for nodes in held.values():
            for number, (place, node) in enumerate(nodes):
                if not number or nodes[number - 1][0] != place - 1:
                    stretches.append([])
                stretches[-1].append((place, node))
        # One that stands alone tells of no step.
        found = [
            (place, node, number)
            for number, stretch in enumerate(stretches)
            for place, node in stretch
            if len(stretch) > 1
        ]
        places, ordered, numbers = np.array(sorted(found), np.int64).reshape(-1, 3).T
        return cls(nodes=ordered, places=places, stretches=numbers)

    def levels(self) -> "Matrix":
        """An indicator for each stretch: shape (nodes, stretches)."""
        import numpy as np

        found: Matrix = np.equal(self.stretches[:, None], np.unique(self.stretches)).astype(float)
        return found

    def links(self, network: Network, steps: Sequence[int], number: int) -> int:
        """How many sittings tell of a step: see ``TrendStep.ratio``."""
        import numpy as np

        sides = np.searchsorted(steps, self.places, side="right")
        side_of = {
            network.revisions[node]: f"{stretch}:{side}"
            for node, stretch, side in zip(self.nodes, self.stretches, sides, strict=True)
        }
        across = [
            {f"{stretch}:{number}", f"{stretch}:{number + 1}"}
            for stretch in np.unique(self.stretches)
        ]
        # What is in no history joins others all the same.
        joined = [
            replace(one, revisions=tuple(side_of.get(name, name) for name in one.revisions))
            for one in network.sittings
        ]
        alone = [one for one in joined if any(sides.issubset(one.revisions) for sides in across)]
        others = connected([one for one in joined if one not in alone])
        together = any(sides.issubset(group.revisions) for sides in across for group in others)
        return len(alone) + together


@dataclass(frozen=True, kw_only=True)
class _Series:
    """The costs along a history, and what is known of them together."""

    network: Network
    names: tuple[str, ...]
    sides: _Sides
    logs: "Matrix"
    """Of each node of the sides."""
    precision: "Matrix"
    """Of ``logs``, with the level of each stretch free."""
    share: float
    """The quantile that bounds are at."""

    @classmethod
    def of(cls, network: Network, names: Sequence[str], looked_at: int) -> "_Series":
        import numpy as np

        sides = _Sides.of(network, names)
        covariance = network.covariance[np.ix_(sides.nodes, sides.nodes)]
        return cls(
            network=network,
            names=tuple(names),
            sides=sides,
            logs=network.logs[sides.nodes],
            precision=_levels_free(covariance, sides.levels()),
            share=1 - ALPHA / 2 / looked_at,
        )

    def found(self, least: float) -> list[int]:
        """The numbers of the revisions with which a step begins; its logarithm is ``least``."""
        steps: list[int] = []
        while (place := self._most_certain(steps, least)) is not None:
            steps = self._settled([*steps, place])
        while steps:
            beyond = [one for one in steps if self._bound(one, steps) > least]
            if beyond == steps:
                break
            steps = beyond
        return steps

    def described(self, places: Sequence[int]) -> tuple[TrendStep, ...]:
        """The steps at some places, each beside the others."""
        return tuple(
            TrendStep(
                before=self.names[place - 1],
                after=self.names[place],
                ratio=self._ratio(number, places),
            )
            for number, place in enumerate(places)
        )

    def _ratio(self, number: int, places: Sequence[int]) -> Estimate:
        rise, half = self._estimate(places[number], places)
        held = self.sides.links(self.network, places, number)
        return Estimate(math.exp(rise), math.exp(rise - half), math.exp(rise + half), held)

    def _bound(self, place: int, places: Sequence[int]) -> float:
        """How large a step is at least, up or down; below 0 where it may be none."""
        rise, half = self._estimate(place, places)
        return abs(rise) - half

    def _estimate(self, place: int, places: Sequence[int]) -> tuple[float, float]:
        """The logarithm of a step's ratio beside other steps, and half of its interval."""
        import numpy as np

        others = [one for one in places if one != place]
        rest = self._without(others)
        indicator = self.sides.places >= place
        weights = rest @ indicator
        weights = weights / float(weights @ indicator)
        contrast = np.zeros(len(self.network.revisions))
        contrast[self.sides.nodes] = weights
        return float(weights @ self.logs), self.network.half_width(contrast, self.share)

    def _most_certain(self, steps: Sequence[int], least: float) -> int | None:
        """Where another step beyond the margin is most certain, if it is anywhere."""
        import numpy as np

        rises, errors = self._scan(steps)
        order = np.argsort(-(np.abs(rises) - self._quantile * errors))
        for place in order[np.isfinite(errors[order])][:_TRIED] + 1:
            if self._bound(int(place), [*steps, int(place)]) > least:
                return int(place)
        return None

    def _settled(self, steps: Sequence[int]) -> list[int]:
        """The steps, each moved to where it fits best between its neighbours."""
        import numpy as np

        placed = sorted(steps)
        for _ in range(_PASSES):
            before = list(placed)
            for number in range(len(placed)):
                others = placed[:number] + placed[number + 1 :]
                rises, errors = self._scan(others)
                low = placed[number - 1] if number else 0
                high = placed[number + 1] if number + 1 < len(placed) else len(self.names)
                fits = np.abs(rises / errors)[low : high - 1]
                placed[number] = low + 1 + int(np.argmax(fits))
            if placed == before:
                break
        return placed

    def _scan(self, steps: Sequence[int]) -> tuple["Matrix", "Matrix"]:
        """For a step at each place but the first: its logarithm, and the error of that.

        Both of shape (revisions - 1,); where there is a step already, or nothing tells of one, the
        error is infinite.
        """
        import numpy as np

        rest = self._without(steps)
        # Of the nodes from each on, and of none; a place has the first node that it or a later one
        # has.
        toward = np.append(np.cumsum((rest @ self.logs)[::-1])[::-1], 0.0)
        both = np.cumsum(np.cumsum(rest[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        firsts = np.searchsorted(self.sides.places, np.arange(1, len(self.names)))
        toward, strength = toward[firsts], np.append(np.diag(both), 0.0)[firsts]
        known = strength > _NOTHING * np.max(np.diag(self.precision))
        rises = np.divide(toward, strength, out=np.zeros_like(toward), where=known)
        errors = np.full_like(strength, np.inf)
        errors[known] = 1 / np.sqrt(strength[known])
        return rises, errors

    def _without(self, steps: Sequence[int]) -> "Matrix":
        """The precision of what is left when steps at some places are free."""
        import numpy as np

        if not steps:
            return self.precision
        free = np.array([self.sides.places >= place for place in steps], float).T
        return _freed(self.precision, free)

    @property
    def _quantile(self) -> float:
        from scipy import special

        return float(special.ndtri(self.share))


def _levels_free(covariance: "Matrix", levels: "Matrix") -> "Matrix":
    """The precision of what has this covariance, with some levels free."""
    import numpy as np

    # Levels of their own, as uncertain as all else, change nothing that is free of them.
    uncertain = (np.trace(covariance) + _NOTHING) * (levels @ levels.T)
    return _freed(np.asarray(np.linalg.inv(covariance + uncertain), np.float64), levels)


def _freed(precision: "Matrix", free: "Matrix") -> "Matrix":
    """A precision if what is along some columns is unknown besides."""
    import numpy as np

    along = precision @ free
    found: Matrix = np.subtract(precision, along @ np.linalg.solve(free.T @ along, along.T))
    return found
