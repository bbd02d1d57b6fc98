"""What a search is in: its ends, its points, and the answer of each of its steps."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from waitbench.analysis import bisection
from waitbench.analysis.bisection import Grain, Stage, Step, StepAnswer, StepVerdict
from waitbench.analysis.rounds import logs_by_round
from waitbench.analysis.statistics import other_packages
from waitbench.environments.candidates import Candidates
from waitbench.environments.origins import Chooser
from waitbench.execution.session import Session
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin, OriginChoice
from waitbench.model.errors import HarnessError, UsageError, masked
from waitbench.model.metrics import SYSTEM_CALLS, Metric
from waitbench.model.record import Record
from waitbench.model.revision import Commit, Release, SearchRange
from waitbench.pipeline.explaining import explain
from waitbench.pipeline.measuring import RunRecorder
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.pipeline.resuming import recording
from waitbench.reporting.document import Table
from waitbench.reporting.progress import PreparationLog, RunProgress

FEWEST = 2
"""Points that there is something to search between."""
_SHOWN_DIGITS = 10


@dataclass(frozen=True)
class History:
    """What there is to search in."""

    only: Grain | None
    """``None``: releases where both ends are releases with wheels, then the commits of one."""
    request: ValidRequest

    def first(self) -> tuple[Grain, SearchRange]:
        """Where the search begins. Raises ``UsageError`` where there is nothing to search."""
        good, bad = (spec.revision for spec in self.request.specs)
        if good.variant != bad.variant:
            raise UsageError(
                f"{good.label} and {bad.label}: a search is among revisions that differ by their "
                "code only. Name both ends with the same packages and settings."
            )
        released = all(isinstance(one.source, Release) for one in (good, bad))
        if self.only is Grain.RELEASES and not released:
            raise UsageError("--releases: name a release for each end, such as v0.16.0.")
        wheels = all(spec.origin is Origin.WHEEL for spec in self.request.specs)
        if self.only is not Grain.COMMITS and released and (wheels or self.only):
            if not wheels:
                raise UsageError(
                    "--releases: no Python here has a wheel of both ends. Leave it out to search "
                    "the commits between them."
                )
            python = self.request.specs[0].python
            return Grain.RELEASES, self._candidates.releases(good, bad, python)
        found = self._candidates.commits(good, bad)
        if len(found.points) < FEWEST:
            raise UsageError(
                f"Nothing between {good.label} and {bad.label} can change the package: no file "
                "that it is built from differs."
            )
        return Grain.COMMITS, found

    def commits_of(self, stage: Stage) -> SearchRange:
        """The commits of the release that a stage named. Raises ``HarnessError``."""
        like = self.request.specs[0].revision
        good, bad = (stage.revision(at, like) for at in stage.search.suspects)
        return self._candidates.commits(good, bad)

    def labels(self, found: SearchRange) -> tuple[str, ...]:
        """What points are called: the tags of releases, short ids of commits."""
        sources = [point.source for point in found.points]
        commits = [one.commit for one in sources if isinstance(one, Commit)]
        digits = (
            _SHOWN_DIGITS
            if len({*(one[:_SHOWN_DIGITS] for one in commits)}) == len(commits)
            else None
        )
        return tuple(
            one.commit[:digits]
            if isinstance(one, Commit)
            else self.request.engine.tag_of(one.version)
            for one in sources
        )

    @property
    def _candidates(self) -> Candidates:
        return Candidates(self.request.engine, self.request.repositories)


class CannotBeMeasured(Exception):
    """The middle of a step cannot be built, or its runs fail: another point must take its place."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """Measures the steps of a stage, each in a folder of its own that holds a comparison."""

    request: ValidRequest
    metric: Metric
    most_rounds: int
    resume: bool
    quiet: bool
    progress: Console
    python: Interpreter | None = None
    """What all points are measured with."""

    def fitted_to(self, stage: Stage) -> "Stepper":
        """With the interpreter for a stage: one that fits both ends. Raises ``UsageError``."""
        ends = (0, len(stage.points) - 1)
        return replace(self, python=self._specs(stage, ends)[0].python)

    def answer(self, stage: Stage, step: Step, folder: Path, budget_s: float) -> StepAnswer:
        """The answer of a step, after as many rounds as it takes.

        It is inconclusive after ``most_rounds``, or when the budget is spent. Raises
        ``CannotBeMeasured`` about its middle, ``HarnessError`` about its ends.
        """
        prepared = self._prepare(stage, step.points)
        facts = [prepared.environments[label].facts for label in prepared.labels]
        known = bisection.of_equal_packages([one.package_sha256 for one in facts])
        if known is not None and not other_packages(prepared.context):
            return known
        folder.mkdir(exist_ok=True)
        resumed = self.resume and any(folder.iterdir())
        settings = self.request.as_settings()
        say = self.progress.print
        with recording(prepared, folder, settings, resume=resumed, say=say) as records:
            guide = _StepGuide(step, records, self)
            bar = RunRecorder(self.progress, folder, quiet=self.quiet)
            counts = self.metric.key == SYSTEM_CALLS
            with bar, prepared.measuring(counts_calls=counts) as measurer:
                session = Session(measurer, records, bar)
                session.carry_out_until(
                    guide, [prepared.request.scenarios], prepared.labels, self.most_rounds, budget_s
                )
        self._require_runs(stage, step, records)
        return guide.answer()

    def explain(self, stage: Stage, folder: Path) -> list[Table]:
        """The tables of ``--why`` for the culprit of a stage and what was before it.

        Raises ``HarnessError`` where one of them cannot be installed.
        """
        prepared = self._prepare(stage, stage.search.suspects)
        folder.mkdir(exist_ok=True)
        shown = []
        with (
            RunProgress(self.progress, quiet=self.quiet) as bar,
            prepared.measuring() as measurer,
        ):
            for scenario in prepared.request.scenarios:
                shown += explain(scenario, measurer.bench, folder, bar)
        return shown

    def _prepare(self, stage: Stage, points: Sequence[int]) -> Prepared:
        labels = [stage.labels[point] for point in points]
        try:
            self._specs(stage, points[1:-1])
        except UsageError as error:
            raise CannotBeMeasured(str(error)) from error
        specs = self._specs(stage, points)
        say = PreparationLog(self.progress, quiet=self.quiet)
        prepared = prepare(replace(self.request, specs=specs), self.progress, say)
        _require(labels, {label: str(why) for label, why in prepared.errors.items()})
        return prepared

    def _specs(self, stage: Stage, points: Sequence[int]) -> tuple[EnvironmentSpec, ...]:
        """What to install for some points of a stage. Raises ``UsageError``."""
        request = self.request
        chooser = Chooser(request.repositories, request.cache)
        like = request.specs[0].revision
        revisions = [stage.revision(point, like) for point in points]
        wheels = stage.grain is Grain.RELEASES
        choice = OriginChoice.WHEEL if wheels else OriginChoice.SOURCE
        wanted = self.python.executable if self.python else request.python
        return chooser.choose(revisions, choice, wanted) if revisions else ()

    def _require_runs(self, stage: Stage, step: Step, records: Mapping[str, Record]) -> None:
        labels = stage.labels_of(step)
        given_up = {
            label: why
            for label in labels
            for record in records.values()
            if (why := record.why_given_up(label)) is not None
        }
        _require(labels, given_up)


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
            raise CannotBeMeasured(_brief(missing[label]))


def _brief(why: str) -> str:
    """What failed, and the last line of its log, which mostly says why."""
    first, *log = (line.strip() for line in why.splitlines() if line.strip())
    return f"{first} {log[-1]}" if log else first


@dataclass(frozen=True)
class _StepGuide:
    """Wants rounds while a step's answer is not certain; see ``execution.session.Guide``."""

    step: Step
    records: Mapping[str, Record]
    stepper: Stepper

    def answer(self) -> StepAnswer:
        records = list(self.records.values())
        rounds = logs_by_round(records, records[0].context.labels, self.stepper.metric)
        disturbed = [one.disturbed for one in rounds]
        return bisection.answer(self.step, [one.logs for one in rounds], disturbed)

    def wants_more(self, scenario: str) -> bool:
        record = self.records[scenario]
        # Three points: one that is given up leaves nothing to compare the others with.
        measurable = all(record.why_given_up(one) is None for one in record.context.labels)
        return measurable and self.answer().verdict is StepVerdict.INCONCLUSIVE

    def is_over(self) -> bool:
        return False


def name_of(stage: Stage, step: Step) -> str:
    """The folder of a step: which one it is, and what is new in it."""
    good, *middle, bad = (re.sub(r"[^\w.+-]+", "-", label) for label in stage.labels_of(step))
    return f"{step.number + 1:02d}-{middle[0] if middle else f'{good}-{bad}'}"


def to_repeat(request: Request) -> tuple[str, ...]:
    """The options that ``compare`` needs to measure the same."""
    given = {
        "--worker": request.worker,
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
