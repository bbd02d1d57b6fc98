"""A binary search for the revision that changed a cost, in measured steps.

Points are numbered in the order of history, from the good end, 0, to the bad one. A search consists
of points and measured steps, so judging the same rounds again resumes it.

Each round of a step measures the good end, a middle and the bad end of the suspects, so that drift
is the same for all. Each half is judged by the interval of the exact signed-rank test on pairs, at
fixed numbers of rounds, as in the gate (see rule.py). The search goes on in a half whose change is
certainly beyond the margin; so the change of the culprit, which is left at the end, is proven.

A search takes at most ``most_steps`` steps, as each halves the points that can be measured. Each
step has an equal part of the error, for both halves at all analyses. The total is half of
``rule.ALPHA``, as releases and commits are two searches, so that both name a wrong revision with a
chance of at most ``rule.ALPHA`` (Bonferroni).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from waitbench.analysis import rule
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.rounds import by_round, mostly_disturbed
from waitbench.analysis.rule import signed_rank_interval
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import LoggedCommit, Point
from waitbench.model.scenario import Scenario
from waitbench.model.verdicts import Estimate, Verdict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from waitbench.analysis.rule import Floats

RELEASES, COMMITS = "releases", "commits"
ANALYSES = (6, 12, 20, 30)
"""Numbers of rounds after which a step is judged. A single scenario needs twelve."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change from one point of a step to the next."""

    good: int
    bad: int
    ratio: Estimate
    """Its bounds have the error of one analysis; too few rounds have no bounds."""
    verdict: Verdict
    """*Slower* or *faster* if certainly beyond the margin, in the direction of the search."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The results of the rounds of some points."""

    rounds: int = 0
    changes: tuple[Change, ...] = ()
    """To the middle, if there is one, and to the bad end. Empty before the first analysis."""
    is_disturbed: bool = False
    """Whether other programs disturbed most rounds, so that nothing is certain."""

    @property
    def left(self) -> tuple[int, ...] | None:
        """The two points around the change; none if both halves are within the margin.

        ``None`` where more rounds are needed. If both halves are beyond the margin, the later one
        is current; another search finds the earlier one.
        """
        changes = () if self.is_disturbed else self.changes
        for change in reversed(changes):
            if change.verdict in (Verdict.SLOWER, Verdict.FASTER):
                return change.good, change.bad
        is_within = all(change.verdict is Verdict.WITHIN_MARGIN for change in changes)
        return () if changes and is_within else None


class End(str, Enum):
    """The state of a search."""

    OPEN = "open"
    NO_CHANGE = "no change"
    CULPRIT = "found"
    RANGE = "range"


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search over two or more points."""

    points: tuple[Point, ...]
    margin: float
    """The largest irrelevant change, as a share: 0.1 for 10 %."""
    faster: bool = False
    steps: tuple[Step, ...] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """Why points cannot be measured, by number."""

    @property
    def grain(self) -> str:
        return RELEASES if self.points[0].commit is None else COMMITS

    @property
    def most_steps(self) -> int:
        return math.ceil(math.log2(len(self.points))) + 1

    @property
    def suspects(self) -> tuple[int, int]:
        """The points around the change, of which the second may be the culprit."""
        left = (step.left for step in reversed(self.steps) if step.left)
        good, bad = next(left, (0, len(self.points) - 1))
        return good, bad

    @property
    def proof(self) -> Change | None:
        changes = (change for step in self.steps if step.left for change in step.changes)
        return next((it for it in changes if (it.good, it.bad) == self.suspects), None)

    @property
    def end(self) -> End:
        if self.steps and self.steps[0].left == ():
            return End.NO_CHANGE
        if self._middle or self.proof is None:
            return End.OPEN
        good, bad = self.suspects
        return End.CULPRIT if bad == good + 1 else End.RANGE

    @property
    def is_proven(self) -> bool:
        return self.end in (End.CULPRIT, End.RANGE)

    @property
    def culprit(self) -> LoggedCommit | None:
        return self.points[self.suspects[1]].commit if self.end is End.CULPRIT else None

    def next(self) -> tuple[int, ...] | None:
        """The points to measure; ``None`` at the end, or if the last step was inconclusive."""
        if self.end is not End.OPEN or (self.steps and not self.steps[-1].left):
            return None
        good, bad = self.suspects
        return (good, *(self._middle if self.steps else ()), bad)

    def and_then(self, step: Step) -> "Search":
        return replace(self, steps=(*self.steps, step))

    def without(self, point: int, why: str) -> "Search":
        """Replaces an inner point that cannot be measured by a neighbour."""
        return replace(self, missing={**self.missing, point: why})

    def labelled(self, points: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.points[point].label for point in points)

    @property
    def _middle(self) -> tuple[int, ...]:
        """The middle of the measurable points between the suspects, if any."""
        good, bad = self.suspects
        inside = [point for point in range(good + 1, bad) if point not in self.missing]
        return (inside[(len(inside) - 1) // 2],) if inside else ()


@dataclass(frozen=True, kw_only=True)
class StepRule:
    """Asks for rounds until a step of a search is certain: see ``comparing.StoppingRule``."""

    search: Search
    points: tuple[int, ...]
    criterion: Criterion
    most_rounds: int
    budget_s: float

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return (self.criterion,)

    def groups(self, scenarios: Sequence[Scenario]) -> Sequence[Sequence[Scenario]]:
        return [scenarios]

    def stops(self, _scenarios: int) -> Sequence[int]:
        return ANALYSES

    def unsettled(
        self, records: Sequence[ScenarioResults], _elsewhere: Sequence[ScenarioResults]
    ) -> set[str]:
        # Without a point that is given up there is no step.
        is_over = bool(given_up(records)) or self.step(records).left is not None
        return set() if is_over else {record.scenario for record in records}

    def step(self, records: Sequence[ScenarioResults]) -> Step:
        import numpy as np

        metric, labels = self.criterion.metric, records[0].context.labels
        rounds = by_round([(record, label) for record in records for label in labels], metric)
        shape = (len(rounds), len(records), len(labels))
        costs = np.maximum([*rounds.values()], metric.resolution).reshape(shape)
        disturbed = {number for record in records for number in record.disturbed_rounds}
        return judge(self.search, self.points, costs, [number in disturbed for number in rounds])


def given_up(records: Sequence[ScenarioResults]) -> dict[str, str]:
    """Maps revisions without further rounds to the reason."""
    return {
        label: why
        for record in records
        for label in record.context.labels
        if (why := record.why_given_up(label)) is not None
    }


def judge(
    search: Search,
    points: tuple[int, ...],
    costs: "ArrayLike",
    disturbed: Sequence[bool] = (),
) -> Step:
    """Judges a step by its costs, indexed by round, scenario and point.

    ``disturbed`` has a flag per round, or is empty. The first analysis with a certain result
    counts, without later rounds.
    """
    import numpy as np

    step = Step()
    logs = np.diff(np.log(costs), axis=-1)
    halves = list(pairwise(points))
    error = rule.ALPHA / 2 / search.most_steps / len(ANALYSES) / len(halves)
    for number in (number for number in ANALYSES if number <= len(logs)):
        changes = tuple(
            _change(search, half, logs[:number, :, at], error) for at, half in enumerate(halves)
        )
        is_disturbed = mostly_disturbed(sum(disturbed[:number]), number)
        step = Step(rounds=number, changes=changes, is_disturbed=is_disturbed)
        if step.left is not None:
            break
    return step


def _change(search: Search, half: tuple[int, int], logs: "Floats", error: float) -> Change:
    margin, sign = math.log1p(search.margin), -1 if search.faster else 1
    # A fall is judged as a mirrored rise.
    verdict = signed_rank_interval(sign * logs - margin, error, error).verdict(is_open=False)
    if verdict is Verdict.SLOWER and search.faster:
        verdict = Verdict.FASTER
    ratio = signed_rank_interval(logs, error, error).ratio(len(logs))
    return Change(good=half[0], bad=half[1], ratio=ratio, verdict=verdict)
