"""A network of revisions in order of history -> the steps in it. Pure.

Between two steps, all revisions cost the same, as far as anything is claimed. A step is claimed at
a neighbourhood of revisions if the ratio of what comes after it to what came before, each up to the
next step, lies beyond the margin with its whole interval. The interval is wider than that of one
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

from waitbench.analysis.network import Network
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Estimate

if TYPE_CHECKING:
    from waitbench.analysis.sittings import Matrix

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
    """After to before, with the interval that is corrected for all places looked at; the count is
    that of the sittings which hold any revision after it, up to the next step."""

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
    series = _Series.of(network, names, places or len(names) - 1)
    return series.described(series.found(math.log1p(margin)))


@dataclass(frozen=True, kw_only=True)
class _Series:
    """The costs along a history, and what is known of them together."""

    network: Network
    names: tuple[str, ...]
    logs: "Matrix"
    precision: "Matrix"
    """Of ``logs``, with a common level free."""
    share: float
    """The quantile that bounds are at."""

    @classmethod
    def of(cls, network: Network, names: Sequence[str], looked_at: int) -> "_Series":
        import numpy as np

        places = [network.revisions.index(name) for name in names]
        return cls(
            network=network,
            names=tuple(names),
            logs=network.logs[places],
            precision=_level_free(network.covariance[np.ix_(places, places)]),
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
        ends = [*places[1:], len(self.names)][: len(places)]
        return tuple(
            TrendStep(
                before=self.names[place - 1],
                after=self.names[place],
                ratio=self._ratio(place, places, self.names[place:end]),
            )
            for place, end in zip(places, ends, strict=True)
        )

    def _ratio(self, place: int, places: Sequence[int], after: Sequence[str]) -> Estimate:
        rise, half = self._estimate(place, places)
        held = sum(not set(after).isdisjoint(one.revisions) for one in self.network.sittings)
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
        indicator = np.arange(len(self.names)) >= place
        weights = rest @ indicator
        weights = weights / float(weights @ indicator)
        contrast = np.zeros(len(self.network.revisions))
        contrast[[self.network.revisions.index(name) for name in self.names]] = weights
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
                placed[number] = low + 1 + int(np.nanargmax(fits))
            if placed == before:
                break
        return placed

    def _scan(self, steps: Sequence[int]) -> tuple["Matrix", "Matrix"]:
        """For a step at each place but the first: its logarithm, and the error of that.

        Both of shape (revisions - 1,); where there is a step already the error is infinite.
        """
        import numpy as np

        rest = self._without(steps)
        toward = np.cumsum((rest @ self.logs)[::-1])[::-1][1:]
        both = np.cumsum(np.cumsum(rest[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        strength = np.diag(both)[1:].copy()
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
        free = np.array([np.arange(len(self.names)) >= place for place in steps], float).T
        along = self.precision @ free
        found: Matrix = np.subtract(
            self.precision, along @ np.linalg.solve(free.T @ along, along.T)
        )
        return found

    @property
    def _quantile(self) -> float:
        from scipy import special

        return float(special.ndtri(self.share))


def _level_free(covariance: "Matrix") -> "Matrix":
    """The precision of what has this covariance, with a common level free."""
    import numpy as np

    # A level of its own, as uncertain as all else, changes nothing that is level-free.
    inverse = np.linalg.inv(covariance + np.trace(covariance) + _NOTHING)
    along = inverse.sum(axis=0)
    found: Matrix = np.subtract(inverse, np.outer(along, along) / along.sum())
    return found
