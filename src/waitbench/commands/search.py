"""What a search is in: its ends, its points, and the answer of each of its steps."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.analysis import bisection
from waitbench.analysis.bisection import RELEASES, Search, Step
from waitbench.analysis.rounds import by_round
from waitbench.environments import candidates
from waitbench.environments.origins import Chooser
from waitbench.model.environment import EnvironmentSpec, Interpreter, OriginChoice
from waitbench.model.errors import HarnessError, UsageError, masked
from waitbench.model.metrics import SYSTEM_CALLS, Metric
from waitbench.model.record import Record
from waitbench.model.revision import Origin, Revision, SearchRange
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.measuring import RunRecorder
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.pipeline.resuming import begin

FEWEST = 2
"""Points that there is something to search between."""
_SHOWN_DIGITS = 10


@dataclass(frozen=True)
class History:
    """What there is to search in."""

    request: ValidRequest

    @property
    def has_commits(self) -> bool:
        return self.request.repository is not None

    @property
    def _has_wheels(self) -> bool:
        return all(spec.origin is Origin.WHEEL for spec in self.request.specs)

    def first(self) -> SearchRange:
        """Where the search begins. Raises ``UsageError`` where there is nothing to search."""
        good, bad = (spec.revision for spec in self.request.specs)
        if self._has_wheels:
            python = self.request.specs[0].python
            return candidates.releases(self.request.engine, good, bad, python)
        found = self._commits(good, bad)
        if len(found.points) < FEWEST:
            raise UsageError(
                f"Nothing between {good.label} and {bad.label} can change the package: no file "
                "that it is built from differs."
            )
        return found

    def commits_of(self, search: Search) -> SearchRange:
        """The commits of the release that a search named. Raises ``HarnessError``."""
        like = self.request.specs[0].revision
        good, bad = (search.revision(at, like) for at in search.suspects)
        return self._commits(good, bad)

    def labels(self, found: SearchRange) -> tuple[str, ...]:
        """What points are called: the tags of releases, short ids of commits."""
        sources = [point.source for point in found.points]
        commits = [one.identity for one in sources if one.origin is Origin.SOURCE]
        digits = (
            _SHOWN_DIGITS
            if len({*(one[:_SHOWN_DIGITS] for one in commits)}) == len(commits)
            else None
        )
        return tuple(
            one.identity[:digits]
            if one.origin is Origin.SOURCE
            else self.request.engine.tag_of(one.identity)
            for one in sources
        )

    def _commits(self, good: Revision, bad: Revision) -> SearchRange:
        return candidates.commits(self.request.engine, self.request.repository, good, bad)


class CannotBeMeasured(Exception):
    """The middle of a step cannot be built, or its runs fail: another point must take its place."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """Measures the steps of a search, each in a folder of its own that holds a comparison."""

    request: ValidRequest
    metric: Metric
    most_rounds: int
    output: Output
    python: Interpreter | None = None
    """What all points are measured with."""

    def fitted_to(self, search: Search) -> "Stepper":
        """With the interpreter for a search: one that fits both ends. Raises ``UsageError``."""
        ends = (0, len(search.points) - 1)
        return replace(self, python=self._specs(search, ends)[0].python)

    def step(self, search: Search, points: tuple[int, ...], folder: Path, budget_s: float) -> Step:
        """Measures some points for as many rounds as it takes.

        The step is inconclusive after ``most_rounds``, or when the budget is spent. Raises
        ``CannotBeMeasured`` about its middle, ``HarnessError`` about its ends.
        """
        prepared = self._prepare(search, points)
        folder.mkdir(exist_ok=True)
        settings = self.request.as_settings()
        contents = begin(prepared, folder, settings, self.output.progress.print)
        measurer = prepared.measurer(counts_calls=self.metric.key == SYSTEM_CALLS)
        with RunRecorder(contents, self.output).session(measurer) as session:
            guide = _StepGuide(search, points, session.records, self.metric)
            session.carry_out_until(
                guide, [prepared.request.scenarios], prepared.labels, self.most_rounds, budget_s
            )
        _require(prepared.labels, _given_up(contents.records))
        return guide.step()

    def _prepare(self, search: Search, points: Sequence[int]) -> Prepared:
        try:
            self._specs(search, points[1:-1])
        except UsageError as error:
            raise CannotBeMeasured(str(error)) from error
        specs = self._specs(search, points)
        prepared = prepare(replace(self.request, specs=specs), self.output)
        _require(search.labelled(points), {one: str(why) for one, why in prepared.errors.items()})
        return prepared

    def _specs(self, search: Search, points: Sequence[int]) -> tuple[EnvironmentSpec, ...]:
        """What to install for some points. Raises ``UsageError``."""
        chooser = Chooser(self.request.engine, self.request.repository, self.request.cache)
        like = self.request.specs[0].revision
        revisions = [search.revision(point, like) for point in points]
        is_wheels = search.grain == RELEASES
        choice: OriginChoice = "wheel" if is_wheels else "source"
        wanted = self.python.executable if self.python else self.request.typed.python
        return chooser.choose(revisions, choice, wanted) if revisions else ()


def _given_up(records: Iterable[Record]) -> dict[str, str]:
    return {
        label: why
        for record in records
        for label in record.context.labels
        if (why := record.why_given_up(label)) is not None
    }


def _require(labels: Sequence[str], missing: Mapping[str, str]) -> None:
    """Raises about the first point that cannot be measured: an end before the middle."""
    good, *middle, bad = labels
    for label in (good, bad):
        if label in missing:
            raise HarnessError(
                f"{label} cannot be measured, so there is nothing to search from: {missing[label]}"
            )
    for label in middle:
        if label in missing:
            # What failed, and the last line of its log, which mostly says why.
            first, *log = (one.strip() for one in missing[label].splitlines() if one.strip())
            raise CannotBeMeasured(f"{first} {log[-1]}" if log else first)


@dataclass(frozen=True)
class _StepGuide:
    """Wants rounds while a step is not certain; see ``execution.session.StoppingRule``."""

    search: Search
    points: tuple[int, ...]
    records: Mapping[str, Record]
    metric: Metric

    def step(self) -> Step:
        records = list(self.records.values())
        labels = records[0].context.labels
        found = [by_round([(one, label) for label in labels], self.metric) for one in records]
        shared = sorted(set(found[0]).intersection(*found[1:]))
        costs = [
            [[max(cost, self.metric.resolution) for cost in of[number]] for of in found]
            for number in shared
        ]
        disturbed = {number for record in records for number in record.disturbed_rounds}
        flags = [number in disturbed for number in shared]
        return bisection.judge(self.search, self.points, costs, flags)

    def wants_more(self, scenario: str) -> bool:
        # One that is given up leaves nothing to compare the others with.
        measurable = not _given_up([self.records[scenario]])
        return measurable and self.step().left is None

    def is_over(self) -> bool:
        return False


def name_of(search: Search, points: Sequence[int]) -> str:
    """The folder of the next step: which one it is, and what is new in it."""
    good, *middle, bad = (re.sub(r"[^\w.+-]+", "-", one) for one in search.labelled(points))
    return f"{len(search.steps) + 1:02d}-{middle[0] if middle else f'{good}-{bad}'}"


def to_repeat(request: Request) -> tuple[str, ...]:
    """The options that ``compare`` needs to measure the same."""
    given = {
        "--worker": None if request.worker is None else str(request.worker.path),
        "--dataflow": request.dataflow,
        "-p": None if request.processes == 1 else str(request.processes),
        "-w": None if request.workers == 1 else str(request.workers),
        "--topology": request.topology,
        "--python": request.python,
        "--repo": None if request.repo is None else masked(request.repo),
    }
    settings = [word for setting in request.settings for word in ("--set", setting)]
    named = [word for name, value in given.items() if value for word in (name, value)]
    return (*named, *settings)
