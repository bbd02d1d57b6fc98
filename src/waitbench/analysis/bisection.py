"""Where along a history a cost changed: a binary search for one culprit, by measured steps. Pure.

Points are numbered in the order of history, 0 the good end and n - 1 the bad one. A search is its
points and the steps that were measured, so it is resumed by judging the same rounds again::

    while points := search.next():
        # Measure rounds of these points until judge(search, points, costs) leaves something, or
        # nothing, or there are enough; search.without(point, why) where the middle cannot be built.
        search = search.and_then(step)
    search.end, search.suspects

Each step measures the good end, a middle and the bad end of what is suspected once each per round,
so that drift is the same for all. Each half is judged as a gate judges a candidate: by the interval
of the exact signed-rank test on pairs, at fixed looks (see rule.py). A half is left only where its
change is certainly beyond the margin; so is that of the culprit, which is the last one left.

A search takes at most ``most_steps`` steps, as each leaves at most half of the points that can be
measured. Each has an equal part of the allowed error for both halves at all looks. That is half of
``rule.ALPHA``, as releases and commits are two searches: the chance that what they name is wrong is
``rule.ALPHA`` at most, by Bonferroni's inequality.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from waitbench.analysis import rule
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.signed_rank import hodges_lehmann
from waitbench.model.estimate import Estimate
from waitbench.model.revision import LoggedCommit, Point, Revision
from waitbench.model.verdicts import Verdict

if TYPE_CHECKING:
    from waitbench.analysis.signed_rank import Floats

RELEASES, COMMITS = "releases", "commits"
LOOKS = (6, 12, 20, 30)
"""Numbers of rounds after which a step is looked at. A single scenario needs twelve."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """From one point of a step to the next."""

    good: int
    bad: int
    ratio: Estimate
    """With bounds that have the error of a look; without those that so few rounds do not give."""
    verdict: Verdict
    """*Slower* or *faster*: certainly beyond the margin, in the direction that is looked for.

    *Within margin*: certainly not.
    """


@dataclass(frozen=True, kw_only=True)
class Step:
    """What the rounds of some points show so far."""

    rounds: int = 0
    """Those that it rests on."""
    changes: tuple[Change, ...] = ()
    """To the middle, if there is one, and to the bad end. Empty with too few rounds."""
    is_disturbed: bool = False
    """Whether nothing is certain because other programs used the machine in most rounds."""

    @property
    def left(self) -> tuple[int, ...] | None:
        """The two points between which the change is; none if neither half is beyond the margin.

        ``None`` where nothing is certain: more rounds are needed. Where both halves are beyond, the
        later is taken, which is what is wrong today; another search finds the earlier one.
        """
        sure = () if self.is_disturbed else self.changes
        for change in reversed(sure):
            if change.verdict in (Verdict.SLOWER, Verdict.FASTER):
                return change.good, change.bad
        is_within = all(change.verdict is Verdict.WITHIN_MARGIN for change in sure)
        return () if sure and is_within else None


class End(str, Enum):
    """How a search ended, or that it did not."""

    OPEN = "open"
    """There is more to be measured, or a step was inconclusive."""
    NO_CHANGE = "no change"
    """None is proven between the ends."""
    FOUND = "found"
    """One culprit, proven against the point before it."""
    RANGE = "range"
    """A proven change; the points between cannot be measured."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search so far, over two points or more."""

    points: tuple[Point, ...]
    labels: tuple[str, ...]
    """Of the points; unique."""
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool = False
    """Whether the change that is looked for is a fall."""
    steps: tuple[Step, ...] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """Why a point cannot be measured, by its number."""

    @property
    def grain(self) -> str:
        """What the points are: releases, or commits."""
        return RELEASES if self.points[0].commit is None else COMMITS

    @property
    def most_steps(self) -> int:
        """The ends, and a step for each halving."""
        return math.ceil(math.log2(len(self.points))) + 1

    @property
    def suspects(self) -> tuple[int, int]:
        """The change is after the first of these points, up to and with the second."""
        left = (step.left for step in reversed(self.steps) if step.left)
        good, bad = next(left, (0, len(self.points) - 1))
        return good, bad

    @property
    def proof(self) -> Change | None:
        """The certain change of all that is suspected, once a step has left it."""
        changes = (one for step in self.steps if step.left for one in step.changes)
        return next((one for one in changes if (one.good, one.bad) == self.suspects), None)

    @property
    def end(self) -> End:
        """How it ended, or ``End.OPEN``."""
        if self.steps and self.steps[0].left == ():
            return End.NO_CHANGE
        if self._middle or self.proof is None:
            return End.OPEN
        good, bad = self.suspects
        return End.FOUND if bad == good + 1 else End.RANGE

    @property
    def culprit(self) -> LoggedCommit | None:
        """The commit that was named, if one was."""
        return self.points[self.suspects[1]].commit if self.end is End.FOUND else None

    def next(self) -> tuple[int, ...] | None:
        """The points to measure; ``None`` if nothing is left, or the last step left no half."""
        if self.end is not End.OPEN or (self.steps and not self.steps[-1].left):
            return None
        good, bad = self.suspects
        return (good, *(self._middle if self.steps else ()), bad)

    def and_then(self, step: Step) -> "Search":
        """The search with one more step, of the points that are next."""
        return replace(self, steps=(*self.steps, step))

    def without(self, point: int, why: str) -> "Search":
        """The search if a point inside cannot be measured; a neighbour takes its place."""
        return replace(self, missing={**self.missing, point: why})

    def labelled(self, points: Sequence[int]) -> tuple[str, ...]:
        """The labels of some points."""
        return tuple(self.labels[point] for point in points)

    def revision(self, point: int, like: Revision) -> Revision:
        """A point as something that can be installed, with the packages and settings of an end."""
        label = self.labels[point]
        return replace(like, label=label, text=label, source=self.points[point].source)

    @property
    def _middle(self) -> tuple[int, ...]:
        """The middle one of the suspected points that can be measured, if there is one inside."""
        good, bad = self.suspects
        inside = [point for point in range(good + 1, bad) if point not in self.missing]
        return (inside[(len(inside) - 1) // 2],) if inside else ()


def judge(
    search: Search,
    points: tuple[int, ...],
    costs: Sequence[Sequence[Sequence[float]]],
    disturbed: Sequence[bool] = (),
) -> Step:
    """Judges a step by what its points cost: of each round, of each scenario, of each point.

    ``disturbed`` has a flag for each round, unless none was. The answer is that of the first look
    that is certain: rounds that came after it do not matter.
    """
    import numpy as np

    step = Step()
    halves = list(pairwise(points))
    error = rule.ALPHA / 2 / search.most_steps / len(LOOKS) / len(halves)
    for look in (one for one in LOOKS if one <= len(costs)):
        logs = np.diff(np.log(costs[:look]), axis=-1)
        changes = tuple(
            _change(search, half, logs[..., at], error) for at, half in enumerate(halves)
        )
        is_disturbed = mostly_disturbed(sum(disturbed[:look]), look)
        step = Step(rounds=look, changes=changes, is_disturbed=is_disturbed)
        if step.left is not None:
            break
    return step


def _change(search: Search, half: tuple[int, int], logs: "Floats", error: float) -> Change:
    """What lies between two points, with the error of each bound."""
    # A fall is judged as a rise, mirrored.
    sign = -1 if search.faster else 1
    found = hodges_lehmann(sign * logs, error, error)
    margin = math.log1p(search.margin)
    verdict = Verdict.WITHIN_MARGIN if found.high <= margin else Verdict.INCONCLUSIVE
    if found.low > margin:
        verdict = Verdict.FASTER if search.faster else Verdict.SLOWER
    low, high = (
        math.exp(log) if math.isfinite(log) else None
        for log in sorted((sign * found.low, sign * found.high))
    )
    ratio = Estimate(math.exp(sign * found.centre), low, high, len(logs))
    return Change(good=half[0], bad=half[1], ratio=ratio, verdict=verdict)
