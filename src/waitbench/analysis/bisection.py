"""Where along a history a cost changed: a search that decides what to measure next. Pure.

Points are numbered in the order of history, 0 the good end and n - 1 the bad one. All that a search
knows are the answers so far, so that it is resumed by giving it the kept ones again, in order::

    search = Search.begin(points=256, margin=0.10)
    while step := search.next():
        # Build step.points; search = search.without(point) where one cannot be, and begin again.
        # Measure rounds until bisection_steps.answer(step, rounds) is not INCONCLUSIVE any more, or
        # there are enough of them.
        search = search.answered(step, answer)
    search.end, search.findings

A stage is a search over one stretch of history: among releases, among commits, inside a merge. What
a stage names may be searched again, more finely, by a further one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from waitbench.analysis.bisection_steps import (
    Change,
    Question,
    Step,
    StepAnswer,
    StepVerdict,
    share,
)
from waitbench.analysis.criteria import Criterion
from waitbench.model.revision import LoggedCommit, Point, Revision


class End(str, Enum):
    """How a search ended, or that it did not."""

    OPEN = "open"
    """There is more to be measured, or what there was is inconclusive and nothing was found."""
    NO_CHANGE = "no change"
    """None is proven between the endpoints; the first answer says what would have been found."""
    FOUND = "found"
    """One or several culprits, each proven against the point before it."""
    RANGE = "range"
    """A change is proven, and hides among points that cannot be measured."""
    GRADUAL = "gradual"
    """A change is proven, and no single step of it is beyond the margin."""


class Kind(str, Enum):
    """What is known about a part of the history."""

    CULPRIT = "culprit"
    """Two neighbours with a proven change: the later one made it."""
    RANGE = "range"
    """A proven change; nothing between can be measured."""
    GRADUAL = "gradual"
    """A proven change that no part proves."""
    INCONCLUSIVE = "inconclusive"
    """There may be a change; the rounds did not suffice to say."""
    OPEN = "open"
    """Still to be searched."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Part of the history: what came after ``good``, up to and with ``bad``."""

    kind: Kind
    good: int
    bad: int
    answer: StepAnswer | None
    """What it rests on; ``None`` where it is open."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search so far."""

    points: int
    margin: float
    """Change that does not matter, as a share: 0.1 for 10 %."""
    faster: bool
    """Whether the change that is looked for is a fall."""
    part: float = 1.0
    """The part of the allowed error that it may spend, where it is one search of several."""
    answers: tuple[tuple[Step, StepAnswer], ...] = ()
    missing: frozenset[int] = frozenset()
    """Points that cannot be measured."""

    @classmethod
    def begin(
        cls, *, points: int, margin: float, faster: bool = False, part: float = 1.0
    ) -> "Search":
        """A search that knows nothing; raises ``ValueError`` with fewer than two points."""
        if points < 2:
            raise ValueError(f"a search needs two points or more, not {points}")
        return cls(points=points, margin=margin, faster=faster, part=part)

    def next(self) -> Step | None:
        """What to measure; ``None`` if nothing is left.

        Any other measurable point inside may be taken for the middle (``dataclasses.replace``).
        """
        part = next((one for one in self.findings if one.kind is Kind.OPEN), None)
        if part is None:
            return None
        number = len(self.answers)
        middle = self._middle(part.good, part.bad) if number else None
        question = Question.ENDPOINTS if not number else Question.PROOF
        return Step(
            number=number,
            question=question if middle is None else Question.SPLIT,
            points=(part.good, part.bad) if middle is None else (part.good, middle, part.bad),
            margin=self.margin,
            faster=self.faster,
            share=self.part * share(number, self.points),
        )

    def answered(self, step: Step, answer: StepAnswer) -> "Search":
        """The search with one more answer; one that is inconclusive stays so.

        Raises ``ValueError`` if the step is not of the part that is next.
        """
        due = self.next()
        if due is None or _asked(step) != _asked(due) or not self._has(step):
            raise ValueError(f"{step} is not what is asked next: {due}")
        return replace(self, answers=(*self.answers, (step, answer)))

    def without(self, point: int) -> "Search":
        """The search if a point cannot be measured; a neighbour will take its place.

        Raises ``ValueError`` for the endpoints and for what was measured: an answer rests on it.
        """
        rested_on = {0, self.points - 1}.union(*(step.points for step, _ in self.answers))
        if point in rested_on or not 0 < point < self.points:
            raise ValueError(f"the search cannot do without point {point}")
        return replace(self, missing=self.missing | {point})

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is known, in order of history; what is not mentioned is within the margin."""
        last = self.points - 1
        if not self.answers:
            return (Finding(kind=Kind.OPEN, good=0, bad=last, answer=None),)
        _, endpoints = self.answers[0]
        return (
            tuple(self._explain(0, last, endpoints))
            if endpoints.says is StepVerdict.CHANGED
            else ()
        )

    @property
    def end(self) -> End:
        """How it ended, or ``End.OPEN``."""
        kinds = {one.kind for one in self.findings}
        if not kinds:
            return End.NO_CHANGE
        if Kind.OPEN in kinds:
            return End.OPEN
        ends = {Kind.CULPRIT: End.FOUND, Kind.RANGE: End.RANGE, Kind.GRADUAL: End.GRADUAL}
        return next((end for kind, end in ends.items() if kind in kinds), End.OPEN)

    def _explain(self, good: int, bad: int, proof: StepAnswer | None) -> list[Finding]:
        """What is known about a part, and the answer that proves its change if one did already."""
        split = self._split(good, bad)
        if split is not None:
            return self._explain_halves(*split, proof)
        if self._middle(good, bad) is not None:
            return [Finding(kind=Kind.OPEN, good=good, bad=bad, answer=None)]
        proof = proof or self._proof(good, bad)
        kind = Kind.OPEN
        if proof is not None:
            if proof.says is StepVerdict.WITHIN:
                return []
            proven = Kind.CULPRIT if bad == good + 1 else Kind.RANGE
            kind = proven if proof.says is StepVerdict.CHANGED else Kind.INCONCLUSIVE
        return [Finding(kind=kind, good=good, bad=bad, answer=proof)]

    def _explain_halves(
        self, step: Step, said: StepAnswer, proof: StepAnswer | None
    ) -> list[Finding]:
        good, middle, bad = step.points
        if said.says is StepVerdict.INCONCLUSIVE:
            return self._explain_inconclusive(step, said)
        found = []
        if said.says in (StepVerdict.LIKE_BAD, StepVerdict.BETWEEN):
            found += self._explain(good, middle, None)
        if said.says in (StepVerdict.LIKE_GOOD, StepVerdict.BETWEEN):
            found += self._explain(middle, bad, None)
        if not found and (proof or any(whole.beyond for whole in said.changes[:1])):
            found = [Finding(kind=Kind.GRADUAL, good=good, bad=bad, answer=proof or said)]
        return found

    def _explain_inconclusive(self, step: Step, said: StepAnswer) -> list[Finding]:
        """A half that changed for certain is searched, whatever the other one is."""
        good, _, bad = step.points
        halves = said.changes[1:]
        if not any(half.beyond for half in halves):
            return [Finding(kind=Kind.INCONCLUSIVE, good=good, bad=bad, answer=said)]
        found = []
        for half in halves:
            if half.beyond:
                found += self._explain(half.good, half.bad, None)
            elif not half.within:
                found.append(
                    Finding(kind=Kind.INCONCLUSIVE, good=half.good, bad=half.bad, answer=said)
                )
        return found

    def _split(self, good: int, bad: int) -> tuple[Step, StepAnswer] | None:
        """The step that split a part, and its answer."""
        of_part = (
            (step, said)
            for step, said in self.answers
            if step.question is Question.SPLIT and _part(step) == (good, bad)
        )
        return next(of_part, None)

    def _proof(self, good: int, bad: int) -> StepAnswer | None:
        of_part = (
            said
            for step, said in self.answers
            if step.question is Question.PROOF and _part(step) == (good, bad)
        )
        return next(of_part, None)

    def _middle(self, good: int, bad: int) -> int | None:
        """The measurable point inside that is closest to the middle; the earlier of two."""
        inside = (point for point in range(good + 1, bad) if point not in self.missing)
        return min(inside, key=lambda point: abs(2 * point - good - bad), default=None)

    def _has(self, step: Step) -> bool:
        """Whether a step's middle, if it has one, is a measurable point inside its part."""
        good, bad = _part(step)
        return all(good < point < bad for point in step.points[1:-1]) and self.missing.isdisjoint(
            step.points
        )


class Grain(str, Enum):
    """What the points of a stage are."""

    RELEASES = "releases"
    COMMITS = "commits"
    BRANCH = "branch"
    """Commits of what one commit merged."""


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
        return replace(
            self, search=self.search.without(point), missing={**self.missing, point: why}
        )

    def answered(self, step: Step, answer: StepAnswer) -> "Stage":
        """The stage with one more answer. Raises ``ValueError`` as the search does."""
        return replace(self, search=self.search.answered(step, answer))

    def named(self, kind: Kind) -> tuple[Finding, ...]:
        """The parts of which this is known."""
        return tuple(one for one in self.search.findings if one.kind is kind)

    def labels_of(self, step: Step) -> tuple[str, ...]:
        """The labels of a step's points."""
        return tuple(self.labels[point] for point in step.points)

    def revision(self, point: int, like: Revision) -> Revision:
        """A point as something that can be installed, with all that an end has beside its code."""
        label = self.labels[point]
        return replace(like, label=label, text=label, source=self.points[point].source)

    def commit_of(self, point: int) -> LoggedCommit | None:
        """The commit that made a point what it is; ``None`` of a release."""
        return next(iter(self.points[point].commits), None)


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A whole search so far: its stages, and what was asked."""

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
    """What stands behind it, where the ends have anything beside their code."""
    options: tuple[str, ...]
    """Those that ``compare`` takes too, to measure the same again."""
    remarks: tuple[str, ...] = ()
    """What else must be said, such as why a finding was not searched more finely."""

    @property
    def end(self) -> End:
        """That something was named, at whatever stage; else how the first one ended."""
        if self.culprits:
            return End.FOUND
        return self.stages[0].search.end if self.stages else End.OPEN

    @property
    def culprits(self) -> tuple[tuple[Stage, Finding], ...]:
        """Every proven step between neighbours, stage by stage."""
        return tuple((stage, one) for stage in self.stages for one in stage.named(Kind.CULPRIT))


def part_of_error(number: int, *, alone: bool) -> float:
    """The part of the allowed error that a stage may spend; those of all add up to 1 at most.

    Each has half of what is left, since nobody knows beforehand how many there will be; but one
    that no other can follow has all of it.
    """
    return 1.0 if alone else 0.5 ** (number + 1)


def of_equal_packages(step: Step, packages: Sequence[str]) -> StepAnswer | None:
    """The answer of a step some of whose points are one package: no measurement is needed.

    ``packages`` are digests of what was installed. ``None`` where all differ.
    """
    first, *middle, last = packages
    if first == last:
        return StepAnswer(says=StepVerdict.WITHIN, rounds=0)
    if step.question is not Question.SPLIT:
        return None
    if middle[0] == first:
        return StepAnswer(says=StepVerdict.LIKE_GOOD, rounds=0)
    return StepAnswer(says=StepVerdict.LIKE_BAD, rounds=0) if middle[0] == last else None


@dataclass(frozen=True, kw_only=True)
class Placed:
    """What a point costs, as a ratio to the first of its stage."""

    point: int
    ratio: float
    low: float
    high: float


def along(stage: Stage) -> tuple[Placed, ...]:
    """Every point that was measured, in order of history, by the ratio to the first.

    The ratio of a point is that to the good end of its step, times that of this one; its bounds are
    those of the step that tells most.
    """
    known = {0: Placed(point=0, ratio=1.0, low=1.0, high=1.0)}
    for step, answer in stage.search.answers:
        base = known.get(step.points[0])
        for change in answer.changes:
            if base and change.good == step.points[0]:
                placed, before = _placed(base, change), known.get(change.bad)
                if before is None or placed.high / placed.low < before.high / before.low:
                    known[change.bad] = placed
    return tuple(known[point] for point in sorted(known))


def _part(step: Step) -> tuple[int, int]:
    return step.points[0], step.points[-1]


def _asked(step: Step) -> Step:
    """The step whatever its middle is."""
    return replace(step, points=_part(step))


def _placed(base: Placed, change: Change) -> Placed:
    return Placed(
        point=change.bad,
        ratio=base.ratio * change.ratio,
        low=base.ratio * change.low,
        high=base.ratio * change.high,
    )
