"""The points of a search, and the rule that ends its steps."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from waitbench.analysis.criteria import Criterion
from waitbench.analysis.rounds import by_round
from waitbench.environments import candidates
from waitbench.environments.origins import OriginResolver
from waitbench.features.bisect.search import RELEASES, Search, Step, judge
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Record
from waitbench.model.revision import (
    SHOWN_DIGITS,
    EnvironmentSpec,
    Origin,
    OriginChoice,
    SearchRange,
)
from waitbench.model.scenario import Scenario
from waitbench.pipeline.request import ValidRequest

FEWEST = 2
"""The fewest points of a search."""


@dataclass(frozen=True)
class History:
    """The releases and commits between the ends of a request."""

    request: ValidRequest

    @property
    def has_commits(self) -> bool:
        return self.request.repository is not None

    def first(self) -> SearchRange:
        """The releases between two wheels, else the commits. Raises ``UsageError`` without any."""
        good, bad = self.request.specs
        if all(spec.origin is Origin.WHEEL for spec in self.request.specs):
            python = self.request.specs[0].python
            return candidates.releases(self.request.engine, good, bad, python)
        commits = self._commits(good, bad)
        if len(commits.points) < FEWEST:
            raise UsageError(
                f"Nothing between {good.label} and {bad.label} can change the package: no file "
                "that it is built from differs."
            )
        return commits

    def commits_of(self, search: Search) -> SearchRange:
        """The commits of the release that a search named. Raises ``HarnessError``."""
        engine = self.request.engine.name
        good, bad = (search.spec(point, engine) for point in search.suspects)
        return self._commits(good, bad)

    def labels(self, points: SearchRange) -> tuple[str, ...]:
        """The tags of releases, or the ids of commits, short if that leaves them different."""
        sources = [point.source for point in points.points]
        if sources[-1].origin is not Origin.SOURCE:
            return tuple(self.request.engine.tag_of(source.identity) for source in sources)
        short = tuple(source.identity[:SHOWN_DIGITS] for source in sources)
        is_unique = len({*short}) == len(short)
        return short if is_unique else tuple(source.identity for source in sources)

    def specs(
        self, search: Search, points: Sequence[int], python: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """The environments of some points. Raises ``UsageError``."""
        resolver = OriginResolver(self.request.engine, self.request.repository, self.request.cache)
        specs = [search.spec(point, self.request.engine.name) for point in points]
        origin: OriginChoice = "wheel" if search.grain == RELEASES else "source"
        return resolver.choose(specs, origin, python) if specs else ()

    def _commits(self, good: EnvironmentSpec, bad: EnvironmentSpec) -> SearchRange:
        return candidates.commits(self.request.engine, self.request.repository, good, bad)


class CannotBeMeasured(Exception):
    """The middle of a step does not build or run: another point must take its place."""


def require_measurable(labels: Sequence[str], missing: Mapping[str, str]) -> None:
    """Raises ``HarnessError`` about an end, or ``CannotBeMeasured`` about the middle."""
    good, *middle, bad = labels
    for label in (good, bad):
        if label in missing:
            raise HarnessError(
                f"{label} cannot be measured, so there is nothing to search from: {missing[label]}"
            )
    for label in middle:
        if label in missing:
            # The last line of a log mostly names the cause.
            first, *log = (line.strip() for line in missing[label].splitlines() if line.strip())
            raise CannotBeMeasured(f"{first} {log[-1]}" if log else first)


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

    def unsettled(self, records: Sequence[Record], _elsewhere: Sequence[Record]) -> set[str]:
        # Without a point that is given up there is no step.
        is_over = bool(given_up(records)) or self.step(records).left is not None
        return set() if is_over else {record.scenario for record in records}

    def step(self, records: Sequence[Record]) -> Step:
        metric, labels = self.criterion.metric, records[0].context.labels
        rounds = [by_round([(record, label) for label in labels], metric) for record in records]
        shared = sorted(set(rounds[0]).intersection(*rounds[1:]))
        costs = [
            [[max(cost, metric.resolution) for cost in scenario[number]] for scenario in rounds]
            for number in shared
        ]
        disturbed = {number for record in records for number in record.disturbed_rounds}
        flags = [number in disturbed for number in shared]
        return judge(self.search, self.points, costs, flags)


def given_up(records: Sequence[Record]) -> dict[str, str]:
    """Maps revisions without further rounds to the reason."""
    return {
        label: why
        for record in records
        for label in record.context.labels
        if (why := record.why_given_up(label)) is not None
    }


def name_of(search: Search, points: Sequence[int]) -> str:
    """Names the folder of the next step by its number and its new point."""
    good, *middle, bad = (re.sub(r"[^\w.+-]+", "-", label) for label in search.labelled(points))
    return f"{len(search.steps) + 1:02d}-{middle[0] if middle else f'{good}-{bad}'}"
