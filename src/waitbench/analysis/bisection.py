"""Where along a history a cost changed: a binary search by measured steps. Pure.

Points are numbered in the order of history, 0 the good end and n - 1 the bad one. All that a search
knows are the answers so far, so that it is resumed by giving it the same answers again, in order::

    search = Search(points=256, margin=0.10)
    while step := search.next():
        # Build step.points; search = search.without(point) where the middle cannot be built.
        # Measure rounds until answer(step, rounds) is not INCONCLUSIVE, or there are enough.
        search = search.answered(step, answer)
    search.end, search.suspects

One culprit is searched. Each step measures the good end, a middle and the bad end of what is
suspected once each per round, so that drift is the same for all. A half is left only where its
change is certainly within the margin, or where that of the other half is certainly beyond it; and
a culprit is named only where its change is certainly beyond. Nothing is certain before
``sequential.FIRST_ALARM`` rounds.

A search takes at most ``most_steps`` steps, as each leaves at most half of the points that can be
measured. Each step has an equal part of the allowed error for all of its interim looks, so the
chance that what is named is wrong is ``sequential.ALPHA`` at most, by Bonferroni's inequality.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from waitbench.analysis import sequential
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.rounds import mostly_disturbed
from waitbench.analysis.sequential import Bounds, Errors, ratio
from waitbench.model.revision import LoggedCommit, Point, Revision


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
class Step:
    """Points to be measured in the same rounds, and the part of the error that is for them."""

    number: int
    points: tuple[int, ...]
    """The good end, the middle unless there is none, and the bad end."""
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool
    """Whether the change that is looked for is a fall."""
    share: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """From one point to a later one: a ratio, and bounds that hold over all interim looks."""

    good: int
    bad: int
    ratio: float
    low: float
    high: float
    beyond: bool
    """Certainly more than the margin, in the direction that is looked for."""
    within: bool
    """Certainly not more than the margin in that direction."""
    detectable: float
    """The smallest change, as a share, that so many rounds prove with a chance of 95 %.

    Of the larger to the smaller: 0.25 is a rise to 1.25 as well as a fall to 1/1.25.
    """


@dataclass(frozen=True, kw_only=True)
class StepAnswer:
    """What the rounds of a step show so far."""

    verdict: StepVerdict
    rounds: int
    """Those that the answer rests on; none where the packages are equal."""
    changes: tuple[Change, ...] = ()
    """From good to bad; with a middle then those of both halves. Empty with too few rounds."""
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


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search so far. Raises ``ValueError`` with fewer than two points."""

    points: int
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool = False
    """Whether the change that is looked for is a fall."""
    part: float = 1.0
    """The part of the allowed error that it may spend, where it is one search of two."""
    answers: tuple[tuple[Step, StepAnswer], ...] = ()
    missing: frozenset[int] = frozenset()
    """Points that cannot be measured."""

    def __post_init__(self) -> None:
        if self.points < 2:
            raise ValueError(f"a search needs two points or more, not {self.points}")

    @property
    def most_steps(self) -> int:
        """The ends, a step for each halving, and a proof."""
        return math.ceil(math.log2(self.points)) + 2

    @property
    def suspects(self) -> tuple[int, int]:
        """The change is after the first of these points, up to and with the second."""
        good, bad = 0, self.points - 1
        for step, answer in self.answers:
            if len(step.points) == 3 and answer.verdict is StepVerdict.LIKE_GOOD:
                good = step.points[1]
            if len(step.points) == 3 and answer.verdict is StepVerdict.LIKE_BAD:
                bad = step.points[1]
        return good, bad

    @property
    def proof(self) -> Change | None:
        """The certain change of the whole part that is suspected, if a step has shown one."""
        changes = (change for _, answer in self.answers for change in answer.changes)
        return next(
            (one for one in changes if one.beyond and (one.good, one.bad) == self.suspects), None
        )

    @property
    def middle(self) -> int | None:
        """The middle one of the suspected points that can be measured and are not the ends."""
        good, bad = self.suspects
        inside = [point for point in range(good + 1, bad) if point not in self.missing]
        return inside[(len(inside) - 1) // 2] if inside else None

    @property
    def end(self) -> End:
        """How it ended, or ``End.OPEN``."""
        if not self.answers:
            return End.OPEN
        last = self.answers[-1][1].verdict
        if last is StepVerdict.WITHIN and len(self.answers) == 1:
            return End.NO_CHANGE
        if last in (StepVerdict.WITHIN, StepVerdict.INCONCLUSIVE) or self.middle is not None:
            return End.OPEN
        if self.proof is None:
            return End.OPEN
        good, bad = self.suspects
        return End.FOUND if bad == good + 1 else End.RANGE

    def next(self) -> Step | None:
        """What to measure; ``None`` if nothing is left."""
        stopped = (StepVerdict.WITHIN, StepVerdict.INCONCLUSIVE)
        if self.end is not End.OPEN or (self.answers and self.answers[-1][1].verdict in stopped):
            return None
        good, bad = self.suspects
        middle = self.middle if self.answers else None
        return Step(
            number=len(self.answers),
            points=(good, bad) if middle is None else (good, middle, bad),
            margin=self.margin,
            faster=self.faster,
            share=self.part / self.most_steps,
        )

    def answered(self, step: Step, answer: StepAnswer) -> "Search":
        """The search with one more answer. Raises ``ValueError`` if the step is not next."""
        if step != self.next():
            raise ValueError(f"{step} is not the next step: {self.next()}")
        return replace(self, answers=(*self.answers, (step, answer)))

    def without(self, point: int) -> "Search":
        """The search if a point inside cannot be measured; a neighbour takes its place."""
        if not 0 < point < self.points - 1:
            raise ValueError(f"the search cannot do without point {point}")
        return replace(self, missing=self.missing | {point})


class Grain(str, Enum):
    """What the points of a stage are."""

    RELEASES = "releases"
    COMMITS = "commits"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One search, and the points that it is over."""

    grain: Grain
    points: tuple[Point, ...]
    labels: tuple[str, ...]
    """Of the points; unique."""
    search: Search
    missing: Mapping[int, str] = field(default_factory=dict)
    """Why a point cannot be measured, by its number."""

    def without(self, point: int, why: str) -> "Stage":
        """The stage if a point cannot be measured. Raises ``ValueError`` as the search does."""
        missing = {**self.missing, point: why}
        return replace(self, search=self.search.without(point), missing=missing)

    def answered(self, step: Step, answer: StepAnswer) -> "Stage":
        """The stage with one more answer. Raises ``ValueError`` as the search does."""
        return replace(self, search=self.search.answered(step, answer))

    @property
    def suspects(self) -> tuple[str, str]:
        """The labels of the ends of what is suspected."""
        good, bad = self.search.suspects
        return self.labels[good], self.labels[bad]

    @property
    def culprit(self) -> LoggedCommit | None:
        """The commit that was named, if one was."""
        named = self.search.end is End.FOUND
        return self.points[self.search.suspects[1]].commit if named else None

    def labels_of(self, step: Step) -> tuple[str, ...]:
        """The labels of a step's points."""
        return tuple(self.labels[point] for point in step.points)

    def revision(self, point: int, like: Revision) -> Revision:
        """A point as something that can be installed, with the packages and settings of an end."""
        label = self.labels[point]
        return replace(like, label=label, text=label, source=self.points[point].source)


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A whole search so far: its stages, and the request."""

    ends: tuple[str, str]
    """The good and the bad one, as the user wrote them."""
    criterion: Criterion
    faster: bool
    """Whether the change that is looked for is a fall."""
    scenarios: tuple[str, ...]
    stages: tuple[Stage, ...]
    prefix: str
    """What stands before a revision of this engine, where it is not the default one."""
    variant: str
    """What stands behind it, where the ends have packages or settings beside their code."""
    options: tuple[str, ...]
    """Those that ``compare`` takes too, to measure the same again."""
    remarks: tuple[str, ...] = ()

    @property
    def end(self) -> End:
        """That of the last stage that proved something; else that of the first."""
        proven = [one.search.end for one in self.stages if one.search.end in (End.FOUND, End.RANGE)]
        if proven:
            return proven[-1]
        return self.stages[0].search.end if self.stages else End.OPEN

    @property
    def proven(self) -> tuple[Stage, ...]:
        """The stages that named a culprit, or a range."""
        return tuple(one for one in self.stages if one.search.end in (End.FOUND, End.RANGE))


def of_equal_packages(packages: Sequence[str]) -> StepAnswer | None:
    """The answer of a step some of whose points are one package: no measurement is needed.

    ``packages`` are digests of what was installed. ``None`` where all differ.
    """
    first, *middle, last = packages
    if first == last:
        return StepAnswer(verdict=StepVerdict.WITHIN, rounds=0)
    if middle == [first]:
        return StepAnswer(verdict=StepVerdict.LIKE_GOOD, rounds=0)
    return StepAnswer(verdict=StepVerdict.LIKE_BAD, rounds=0) if middle == [last] else None


def answer(
    step: Step, rounds: Sequence[Sequence[float]], disturbed: Sequence[bool] = ()
) -> StepAnswer:
    """Answers a step from the logarithms of what each of its points cost, by round.

    ``disturbed`` has a flag for each round, unless none was. The answer is that of the first
    interim look that is certain: rounds that came after it do not matter.
    """
    halves = ((0, 1),) if len(step.points) == 2 else ((0, 2), (0, 1), (1, 2))
    logs = [_logs(rounds, good, bad, faster=step.faster) for good, bad in halves]
    spans = [_Span(low=-math.inf, high=math.inf, margin=math.log1p(step.margin)) for _ in logs]
    verdict, seen, is_disturbed = StepVerdict.INCONCLUSIVE, 0, False
    looks = sequential.looks_until(len(rounds))
    for seen in (look for look in looks if look >= sequential.FIRST_ALARM):
        error = _error(step, seen)
        found = [sequential.bounds(each[:seen], error) for each in logs]
        spans = [span.narrowed(to) for span, to in zip(spans, found, strict=True)]
        is_disturbed = mostly_disturbed(sum(disturbed[:seen]), seen)
        if not is_disturbed:
            verdict = _verdict(spans)
        if verdict is not StepVerdict.INCONCLUSIVE:
            break
    if not seen:
        return StepAnswer(verdict=verdict, rounds=0)
    changes = tuple(_change(step, *each) for each in zip(halves, spans, found, strict=True))
    return StepAnswer(verdict=verdict, rounds=seen, changes=changes, is_disturbed=is_disturbed)


@dataclass(frozen=True, kw_only=True)
class _Span:
    """Where the logarithm of a change lies, mirrored if it is a fall."""

    low: float
    high: float
    margin: float

    @property
    def beyond(self) -> bool:
        return self.low > self.margin

    @property
    def within(self) -> bool:
        return self.high <= self.margin

    def narrowed(self, found: Bounds) -> "_Span":
        """The bounds of all looks hold at once, so the closest do."""
        return replace(self, low=max(self.low, found.low), high=min(self.high, found.high))


def _logs(rounds: Sequence[Sequence[float]], good: int, bad: int, *, faster: bool) -> list[float]:
    """Logarithms of the paired ratios; of a fall mirrored, so that it is a rise."""
    sign = -1 if faster else 1
    return [sign * (one[bad] - one[good]) for one in rounds]


def _error(step: Step, look: int) -> Errors:
    """The errors of the bounds at a look.

    Of two points only one bound can mislead: the lower one if the change is within the margin, the
    upper one if it is beyond. With a middle, each half may be left wrongly.
    """
    whole = sequential.ALPHA * step.share * sequential.share(look, sequential.FIRST_ALARM)
    each = whole if len(step.points) == 2 else whole / 2
    return Errors(alarm=each, clear=each)


def _verdict(spans: Sequence[_Span]) -> StepVerdict:
    if len(spans) == 1:
        (only,) = spans
        if only.beyond:
            return StepVerdict.CHANGED
        return StepVerdict.WITHIN if only.within else StepVerdict.INCONCLUSIVE
    _, first, second = spans
    if first.within and second.within:
        return StepVerdict.WITHIN
    # A half that is certainly within holds no culprit. Where both are beyond, the later is taken,
    # which is what is wrong today; another search finds the earlier one.
    if second.beyond or first.within:
        return StepVerdict.LIKE_GOOD
    return StepVerdict.LIKE_BAD if first.beyond or second.within else StepVerdict.INCONCLUSIVE


def _change(step: Step, half: tuple[int, int], span: _Span, found: Bounds) -> Change:
    sign = -1 if step.faster else 1
    low, high = sorted((sign * span.low, sign * span.high))
    return Change(
        good=step.points[half[0]],
        bad=step.points[half[1]],
        ratio=ratio(sign * found.centre),
        low=ratio(low),
        high=ratio(high),
        beyond=span.beyond,
        within=span.within,
        detectable=found.findable(step.margin) - 1,
    )
