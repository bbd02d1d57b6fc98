"""Stages of a search for what changed a cost: among releases, among commits, inside a merge. Pure.

A stage is a stretch of history with what is known of it. What a stage names may be searched again,
more finely, by a further one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from waitbench.analysis.bisection import End, Finding, Kind, Search
from waitbench.analysis.bisection_steps import Change, Question, Step, StepAnswer, StepVerdict
from waitbench.analysis.criteria import Criterion
from waitbench.model.history import LoggedCommit, Point
from waitbench.model.revision import Revision


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


def _placed(base: Placed, change: Change) -> Placed:
    return Placed(
        point=change.bad,
        ratio=base.ratio * change.ratio,
        low=base.ratio * change.low,
        high=base.ratio * change.high,
    )
