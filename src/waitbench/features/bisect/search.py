"""A binary search for the revision that changed a cost, in measured steps.

Points are revisions in the order of history: point 0 is the good end, the last one the bad end. To
resume a search, its stored rounds are judged again.

Each round of a step measures the two points around the change and one midway, so that drift
affects all alike. Each half is judged by the exact signed-rank test on pairs, after fixed numbers
of rounds, as in the gate (``analysis/rule.py``). The search continues in a half whose change is
certainly beyond the margin. So the last half, which ends with the culprit, has a proven change.

A search takes at most ``most_steps`` steps, as each halves the points. All steps, halves and
analyses have equal parts of an error of ``rule.ALPHA`` / 2. A bisection is two searches, among
releases and among commits, so it names a wrong revision with a chance of at most ``rule.ALPHA``
(Bonferroni).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from waitbench.analysis import rule
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.gate import is_too_disturbed
from waitbench.analysis.rounds import by_round, having, mostly_disturbed
from waitbench.analysis.rule import signed_rank_interval
from waitbench.model.record import ScenarioResults, why_given_up
from waitbench.model.revision import LoggedCommit, Point
from waitbench.model.scenario import Scenario
from waitbench.model.verdicts import Estimate, Verdict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from waitbench.analysis.rule import Floats

RELEASES, COMMITS = "releases", "commits"
ANALYSES = (6, 12, 20, 30)
"""Numbers of rounds after which a step is judged. With one scenario, six are too few."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of the cost between two points of a step, ``good`` and ``bad`` by number."""

    good: int
    bad: int
    ratio: Estimate
    """The cost at ``bad`` divided by that at ``good``; without bounds after too few rounds."""
    verdict: Verdict
    """*Slower* or *faster* if the change is certainly beyond the margin in the sought direction."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The result of measuring two or three points in the same rounds."""

    rounds: int = 0
    changes: tuple[Change, ...] = ()
    """The change of each half, or of the whole without a middle; empty before an analysis."""
    is_disturbed: bool = False
    """Whether other programs disturbed most rounds, so that nothing is certain."""

    @property
    def suspects(self) -> tuple[int, ...] | None:
        """The points around the change; if both halves have a change, around the later one.

        Empty if all changes are within the margin; ``None`` while the step is inconclusive.
        """
        changes = () if self.is_disturbed else self.changes
        for change in reversed(changes):
            if change.verdict in (Verdict.SLOWER, Verdict.FASTER):
                return change.good, change.bad
        is_within = all(change.verdict is Verdict.WITHIN_MARGIN for change in changes)
        return () if changes and is_within else None


class End(str, Enum):
    """How a search ended, or that it has not."""

    OPEN = "open"
    NO_CHANGE = "no change"
    CULPRIT = "found"
    RANGE = "range"


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search over two or more points."""

    points: tuple[Point, ...]
    margin: float
    """The largest change that does not matter: 0.1 is 10 %."""
    faster: bool = False
    """Whether a fall is sought, rather than a rise."""
    steps: tuple[Step, ...] = ()
    missing: Mapping[int, str] = field(default_factory=dict)
    """The reasons why points cannot be measured, by number."""

    @property
    def kind(self) -> str:
        return RELEASES if self.points[0].commit is None else COMMITS

    @property
    def most_steps(self) -> int:
        return math.ceil(math.log2(len(self.points))) + 1

    @property
    def suspects(self) -> tuple[int, int]:
        """The points around the change. The second is the culprit if they are neighbours."""
        by_step = (step.suspects for step in reversed(self.steps) if step.suspects)
        good, bad = next(by_step, (0, len(self.points) - 1))
        return good, bad

    @property
    def proof(self) -> Change | None:
        """The measured change between the suspects."""
        changes = (change for step in self.steps if step.suspects for change in step.changes)
        return next((it for it in changes if (it.good, it.bad) == self.suspects), None)

    @property
    def end(self) -> End:
        if self.steps and self.steps[0].suspects == ():
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
        """The next points to measure; ``None`` at the end, and after an inconclusive step."""
        if self.end is not End.OPEN or (self.steps and not self.steps[-1].suspects):
            return None
        good, bad = self.suspects
        return (good, *(self._middle if self.steps else ()), bad)

    def without(self, point: int, why: str) -> "Search":
        """Excludes a middle that cannot be measured, so that a neighbour takes its place."""
        return replace(self, missing={**self.missing, point: why})

    def labels_of(self, points: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.points[point].label for point in points)

    @property
    def _middle(self) -> tuple[int, ...]:
        """The middle of the measurable points between the suspects; empty if there are none."""
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

    def unsettled(
        self, records: Sequence[ScenarioResults], _elsewhere: Sequence[ScenarioResults]
    ) -> dict[str, int]:
        # A step needs all of its points, so it is over as soon as one is given up.
        if given_up(records) or is_too_disturbed(records):
            return {}
        if self.step(records).suspects is not None:
            return {}
        made = len(self._rounds(having(self.criterion.metric, records)))
        needed = next((it for it in ANALYSES if it > made), self.most_rounds) - made
        return {record.scenario: needed for record in records}

    def _rounds(self, records: Sequence[ScenarioResults]) -> dict[int, tuple[float, ...]]:
        sides = [(record, label) for record in records for label in record.context.labels]
        return by_round(sides, self.criterion.metric, with_censored=True)

    def step(self, records: Sequence[ScenarioResults]) -> Step:
        import numpy as np

        records = having(self.criterion.metric, records)
        rounds = self._rounds(records)
        shape = (len(rounds), len(records), len(records[0].context.labels))
        costs = np.maximum([*rounds.values()], self.criterion.metric.resolution).reshape(shape)
        disturbed = {number for record in records for number in record.disturbed_rounds}
        return judge(self.search, self.points, costs, [number in disturbed for number in rounds])


def given_up(records: Sequence[ScenarioResults]) -> dict[str, str]:
    """The labels of revisions that get no more runs, with the reasons."""
    return {
        label: why
        for record in records
        for label in record.context.labels
        if (why := why_given_up(records, record, label)) is not None
    }


def judge(
    search: Search,
    points: tuple[int, ...],
    costs: "ArrayLike",
    disturbed: Sequence[bool] = (),
) -> Step:
    """Judges a step by its costs, an array of rounds × scenarios × points.

    ``disturbed`` has a flag for each round, or is empty. The first conclusive analysis counts.
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
        if step.suspects is not None:
            break
    return step


def _change(search: Search, half: tuple[int, int], logs: "Floats", error: float) -> Change:
    margin, sign = math.log1p(search.margin), -1 if search.faster else 1
    # A fall is judged like a rise, with the sign changed.
    verdict = signed_rank_interval(sign * logs - margin, error, error).verdict()
    if verdict is Verdict.SLOWER and search.faster:
        verdict = Verdict.FASTER
    ratio = signed_rank_interval(logs, error, error).ratio(len(logs))
    return Change(good=half[0], bad=half[1], ratio=ratio, verdict=verdict)
