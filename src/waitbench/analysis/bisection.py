"""Where along a history a cost changed: a binary search for one culprit, by measured steps. Pure.

Points are numbered in the order of history, 0 the good end and n - 1 the bad one. A search is its
points and the steps that were measured, so it is resumed by judging the same rounds again::

    while points := search.next():
        # Measure rounds of these points until judge(search, points, costs) is certain, or there
        # are enough; search.without(point, why) where the middle cannot be built.
        search = search.and_then(step)
    search.end, search.suspects

Each step measures the good end, a middle and the bad end of what is suspected once each per round,
so that drift is the same for all. Each half is judged as a gate judges a candidate: by the interval
of the exact signed-rank test on pairs, at fixed looks (see rule.py). A half is left only where its
change is certainly within the margin, or where that of the other half is certainly beyond it; and a
culprit is named only where its change is certainly beyond.

A search takes at most ``most_steps`` steps, as each leaves at most half of the points that can be
measured. Each step has an equal part of the allowed error for all of its looks, so the chance that
what is named is wrong is ``rule.ALPHA`` at most, by Bonferroni's inequality.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

from waitbench.analysis import rule
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.model.revision import LoggedCommit, Point, Revision

LOOKS = (6, 10, 15, 20, 30)
"""Numbers of rounds after which one looks at a step of several scenarios."""
FOR_WITHIN = 0.8
"""Of the error of a step between three points: a half that holds the culprit is called within.

The rest is for the other half, which does not, and is called beyond. The larger part is for what
decides most steps."""
MOST = 1e9
"""Files and tables hold ratios up to here."""


class StepVerdict(str, Enum):
    """The answer of a step."""

    CHANGED = "changed"
    """Of two points: certainly beyond the margin."""
    WITHIN = "within"
    """Certainly not beyond the margin: between two points, or in each half."""
    LIKE_GOOD = "like good"
    """The change is in the second half."""
    LIKE_BAD = "like bad"
    """The change is in the first half."""
    INCONCLUSIVE = "inconclusive"
    """More rounds are needed."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """From one point of a step to the next: a ratio, and bounds with the error of a look."""

    good: int
    bad: int
    ratio: float
    low: float
    """0 where so few rounds bound nothing."""
    high: float
    """``MOST`` where so few rounds bound nothing."""
    beyond: bool
    """Certainly more than the margin, in the direction that is looked for."""
    within: bool
    """Certainly not more than the margin in that direction."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What the rounds of some points show so far."""

    points: tuple[int, ...]
    """The good end, the middle unless there is none, and the bad end."""
    verdict: StepVerdict
    rounds: int = 0
    """Those that the verdict rests on; none where the packages are equal."""
    changes: tuple[Change, ...] = ()
    """From each point to the next. Empty with too few rounds."""
    is_disturbed: bool = False
    """Whether it is inconclusive because other programs used the machine in most rounds."""


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


class Grain(str, Enum):
    """What the points of a search are."""

    RELEASES = "releases"
    COMMITS = "commits"


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search so far, over two points or more."""

    grain: Grain
    points: tuple[Point, ...]
    labels: tuple[str, ...]
    """Of the points; unique."""
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool = False
    """Whether the change that is looked for is a fall."""
    part: float = 1.0
    """The part of the allowed error that it may spend, where it is one search of two."""
    steps: tuple[Step, ...] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """Why a point cannot be measured, by its number."""

    @property
    def most_steps(self) -> int:
        """The ends, a step for each halving, and a proof."""
        return math.ceil(math.log2(len(self.points))) + 2

    @property
    def suspects(self) -> tuple[int, int]:
        """The change is after the first of these points, up to and with the second."""
        good, bad = 0, len(self.points) - 1
        for step in self.steps:
            if step.verdict is StepVerdict.LIKE_GOOD:
                good = step.points[1]
            if step.verdict is StepVerdict.LIKE_BAD:
                bad = step.points[1]
        return good, bad

    @property
    def suspected(self) -> tuple[str, str]:
        """The labels of the suspects."""
        good, bad = self.suspects
        return self.labels[good], self.labels[bad]

    @property
    def proof(self) -> Change | None:
        """The certain change of the whole part that is suspected, if a step has shown one."""
        changes = (change for step in self.steps for change in step.changes)
        return next(
            (one for one in changes if one.beyond and (one.good, one.bad) == self.suspects), None
        )

    @property
    def end(self) -> End:
        """How it ended, or ``End.OPEN``."""
        if [step.verdict for step in self.steps] == [StepVerdict.WITHIN]:
            return End.NO_CHANGE
        good, bad = self.suspects
        if not self.steps or self._middle or self._is_stuck or self.proof is None:
            return End.OPEN
        return End.FOUND if bad == good + 1 else End.RANGE

    @property
    def culprit(self) -> LoggedCommit | None:
        """The commit that was named, if one was."""
        return self.points[self.suspects[1]].commit if self.end is End.FOUND else None

    def next(self) -> tuple[int, ...] | None:
        """The points to measure; ``None`` if nothing is left."""
        if self.end is not End.OPEN or self._is_stuck:
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

    @property
    def _is_stuck(self) -> bool:
        """Whether the last step leaves no half to go on with."""
        verdicts = (StepVerdict.WITHIN, StepVerdict.INCONCLUSIVE)
        return bool(self.steps) and self.steps[-1].verdict in verdicts


def of_equal_packages(points: tuple[int, ...], packages: Sequence[str]) -> Step | None:
    """The step where some of its points are one package: no measurement is needed.

    ``packages`` are digests of what was installed. ``None`` where all differ.
    """
    first, *middle, last = packages
    if first == last:
        return Step(points=points, verdict=StepVerdict.WITHIN)
    if middle == [first]:
        return Step(points=points, verdict=StepVerdict.LIKE_GOOD)
    return Step(points=points, verdict=StepVerdict.LIKE_BAD) if middle == [last] else None


def looks_of(scenarios: int) -> tuple[int, ...]:
    """The rounds after which one looks at a step: fewer ask than in a gate, so ten settle one."""
    return LOOKS if scenarios > 1 else LOOKS[1:]


def judge(
    search: Search,
    points: tuple[int, ...],
    costs: Sequence[Sequence[Sequence[float]]],
    disturbed: Sequence[bool] = (),
) -> Step:
    """Judges a step by what its points cost: of each round, of each scenario, of each point.

    ``disturbed`` has a flag for each round, unless none was. The verdict is that of the first look
    that is certain: rounds that came after it do not matter.
    """
    step = Step(points=points, verdict=StepVerdict.INCONCLUSIVE)
    looks = looks_of(len(costs[0])) if costs else ()
    error = rule.ALPHA * search.part / search.most_steps / max(1, len(looks))
    # Of two points only one bound can mislead: the lower one if the change is within the margin,
    # the upper one if it is beyond.
    errors = (error, error)
    if len(points) == 3:
        errors = error * (1 - FOR_WITHIN), error * FOR_WITHIN
    for look in (one for one in looks if one <= len(costs)):
        changes = tuple(
            _change(search, half, [[one[at : at + 2] for one in of] for of in costs[:look]], errors)
            for at, half in enumerate(pairwise(points))
        )
        is_disturbed = mostly_disturbed(sum(disturbed[:look]), look)
        verdict = StepVerdict.INCONCLUSIVE if is_disturbed else _verdict(changes)
        step = Step(
            points=points, verdict=verdict, rounds=look, changes=changes, is_disturbed=is_disturbed
        )
        if verdict is not StepVerdict.INCONCLUSIVE:
            break
    return step


def _change(
    search: Search,
    half: tuple[int, int],
    pairs: Sequence[Sequence[Sequence[float]]],
    errors: tuple[float, float],
) -> Change:
    """What lies between two points, with the errors of being called beyond, and within."""
    import numpy as np

    logs = np.diff(np.log(pairs), axis=-1)
    # A fall is judged as a rise, mirrored.
    found = rule.hodges_lehmann(-logs if search.faster else logs, *errors)
    margin = math.log1p(search.margin)
    centre, low, high = (
        math.exp(min(-log if search.faster else log, math.log(MOST)))
        for log in (found.centre, found.low, found.high)
    )
    return Change(
        good=half[0],
        bad=half[1],
        ratio=centre,
        low=min(low, high),
        high=max(low, high),
        beyond=found.low > margin,
        within=found.high <= margin,
    )


def _verdict(changes: Sequence[Change]) -> StepVerdict:
    first, second = changes[0], changes[-1]
    if first.within and second.within:
        return StepVerdict.WITHIN
    if len(changes) == 1:
        return StepVerdict.CHANGED if first.beyond else StepVerdict.INCONCLUSIVE
    # A half that is certainly within holds no culprit. Where both are beyond, the later is taken,
    # which is what is wrong today; another search finds the earlier one.
    if second.beyond or first.within:
        return StepVerdict.LIKE_GOOD
    return StepVerdict.LIKE_BAD if first.beyond or second.within else StepVerdict.INCONCLUSIVE
