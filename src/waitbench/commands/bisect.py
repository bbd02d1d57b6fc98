"""``bisect``: which release, or which commit, changed what a worker costs."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from waitbench import engines
from waitbench.analysis.bisection import (
    End,
    Grain,
    Search,
    Searched,
    Stage,
    Step,
    StepVerdict,
)
from waitbench.analysis.criteria import Criterion
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.commands.search import (
    FEWEST,
    CannotBeMeasured,
    History,
    Stepper,
    name_of,
    to_repeat,
)
from waitbench.environments.revisions import without_label
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.revision import SearchRange
from waitbench.pipeline import concluding, gating
from waitbench.pipeline.concluding import publish_markdown
from waitbench.pipeline.explaining import require_possible
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import kept_in
from waitbench.reporting import bisection, markdown
from waitbench.reporting import why as reasons
from waitbench.reporting.console import make_console, print_document, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.progress import PreparationLog
from waitbench.store import folders, formats, why
from waitbench.system import endings
from waitbench.system.installation import called

EXAMPLES = """
\b
Examples:
  ./waitbench bisect v0.16.0 v0.21.1 -s partitioned-long-input --find faster
  ./waitbench bisect v0.20.1 main -s 'dynamic*' --fail-on steady:10%
  ./waitbench bisect 3f2a1b0 my-branch --repo ~/src/bytewax --fail-on wakeups:5% -p 2
  ./waitbench bisect v0.16.2 main -s partitioned-long-input --why   # and who wakes up there
"""


class Find(str, Enum):
    """The direction of the change."""

    SLOWER = "slower"
    FASTER = "faster"


@with_request_options
def bisect(
    good: Annotated[
        str, typer.Argument(metavar="GOOD", help="The older end: a release, commit, branch or tag.")
    ],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="The newer end.")],
    *,
    request: Request,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="METRIC:PCT%",
            help="What changed, and by how much it must have to matter, such as wakeups:5%.",
        ),
    ] = "steady:10%",
    find: Annotated[
        Find, typer.Option(help="Whether it rose, or fell: what mended something.")
    ] = Find.SLOWER,
    releases: Annotated[
        bool, typer.Option("--releases", help="Only releases, by their wheels: seconds each.")
    ] = False,
    commits: Annotated[
        bool, typer.Option("--commits", help="Only commits, all built here.")
    ] = False,
    rounds: Annotated[
        int,
        typer.Option(metavar="N", help="A step stays inconclusive after so many rounds."),
    ] = 30,
    budget: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="No round begins after this much time; see --resume."),
    ] = 7200,
    full: options.Full = False,
    why_: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Of the culprit and what was before it: which thread wakes up, and from where.",
        ),
    ] = False,
    results: options.NewResults = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a search: that of --results, or the latest."),
    ] = False,
    quiet: options.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found as JSON on stdout, progress on stderr.")
    ] = False,
) -> None:
    """Find which release, then which commit, changed what a worker costs.

    The ends are measured first; where no change is proven, that is the answer. Each step measures
    the good end, a middle and the bad end in the same rounds. The chance that what is named is
    wrong is 5 % at most, over all steps together. One culprit is named: run it again to find
    another one before it.
    """
    if releases and commits:
        raise UsageError("--releases and --commits: one kind only, or neither for both.")
    criterion = _criterion(fail_on, rounds, request.worker)
    asked_for = replace(
        request,
        revisions=(good, bad),
        origin=OriginChoice.SOURCE if commits else OriginChoice.AUTO,
        required_metrics=frozenset({criterion.metric.key}),
    )
    bisecting = Bisecting(
        criterion=criterion,
        faster=find is Find.FASTER,
        only=Grain.RELEASES if releases else Grain.COMMITS if commits else None,
        full=full,
        why=why_,
        most_rounds=gating.last_look(rounds),
        budget_s=budget,
        results=results,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        options=to_repeat(request),
    )
    raise typer.Exit(bisecting.bisect(asked_for))


def _criterion(text: str, most_rounds: int, worker: str | None) -> Criterion:
    """Raises ``UsageError`` for what a search cannot heed."""
    known = gating.metrics_known(worker)
    (criterion,) = gating.read_criteria([text], most_rounds, defaults=False, metrics=known)
    if criterion.floor or criterion.alone or criterion.together:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


_MOST_OF_END = 24
KIND = "bisect"
"""The name of the documents, of the chart, and of the kind of results folder."""


@dataclass(frozen=True, kw_only=True)
class Bisecting:
    """The request of a search."""

    criterion: Criterion
    faster: bool
    only: Grain | None
    """``None``: releases, then the commits of the one that is named."""
    full: bool
    why: bool
    most_rounds: int
    budget_s: float
    results: Path | None
    resume: bool
    quiet: bool
    as_json: bool
    options: tuple[str, ...]
    """Those that ``compare`` takes too, for the command that measures the culprit again."""

    def bisect(self, request: Request) -> ExitCode:
        """Searches. Raises ``HarnessError``."""
        if not self.budget_s > 0:
            raise UsageError(f"--budget {self.budget_s:g}: must be above zero seconds.")
        if self.why:
            require_possible()
        good, bad = map(without_label, request.revisions)
        if good == bad:
            raise UsageError(
                f"Both ends are {good}, so there is nothing to search between them. Name an older "
                f"revision first, such as: {called('bisect')} v0.16.2 main"
            )
        progress = make_console(stderr=self.as_json)
        valid = validate(request, PreparationLog(progress, quiet=self.quiet), quick=not self.full)
        history = History(self.only, valid)
        # What cannot be searched is an error before a folder is made.
        first = history.first()
        folder = self._claim(valid.labels)
        with folders.exclusive(folder, valid.cache), endings.noted(kept_in(folder)):
            return _Search(self, valid, history, folder, progress).carry_out(*first)

    def _claim(self, labels: Sequence[str]) -> Path:
        if not self.resume:
            return folders.new_folder(self.results, (KIND, *labels))
        folder = folders.existing_folder(self.results)
        if not (folder / f"{KIND}.json").exists():
            raise UsageError(
                f"{str(folder)!r} does not hold a search, so it cannot be resumed. Name its folder "
                "with --results."
            )
        return folder


@dataclass
class _Search:
    """A search at work; grows while it lasts."""

    asked: Bisecting
    request: ValidRequest
    history: History
    folder: Path
    progress: Console
    stages: list[Stage] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def carry_out(self, grain: Grain, found: SearchRange) -> ExitCode:
        """Searches stage after stage, then reports."""
        missing = _missing_before(self.folder) if self.asked.resume else []
        self._save()
        shown: list[Table] = []
        code = ExitCode.OK
        try:
            self._search(grain, found, missing)
            if grain is Grain.RELEASES and self.asked.only is None and self._proven(0):
                commits = self.history.commits_of(self.stages[0])
                if len(commits.points) >= FEWEST:
                    self._search(Grain.COMMITS, commits, missing)
            if self.asked.why and self._proven(-1):
                stage = self.stages[-1]
                shown = self._stepper(stage).explain(stage, self.folder / "why")
        except HarnessError as error:
            if not (self.stages and self.stages[0].search.answers):
                raise
            # The result of the steps before is still worth a report.
            self.remarks.append(str(error))
            code = ExitCode.FAILED
        self._conclude(shown)
        return code

    def _proven(self, number: int) -> bool:
        return self.stages[number].search.end in (End.FOUND, End.RANGE)

    def _search(
        self, grain: Grain, found: SearchRange, missing: Sequence[Mapping[str, str]]
    ) -> None:
        """Carries a stage to its end, or to that of the budget."""
        number = len(self.stages)
        stage = Stage(
            grain=grain,
            points=found.points,
            labels=self.history.labels(found),
            search=Search(
                points=len(found.points),
                margin=self.asked.criterion.margin,
                faster=self.asked.faster,
                part=0.5 if self.asked.only is None else 1.0,
            ),
        )
        for point, label in enumerate(stage.labels):
            if number < len(missing) and label in missing[number]:
                stage = stage.without(point, missing[number][label])
        self.stages.append(stage)
        if found.begins_at_fork:
            self.remarks.append(
                f"{self.request.labels[0]} is on a branch of its own: the search begins where "
                f"that left, at {stage.labels[0]}."
            )
        home = self.folder / f"{number + 1}-{grain.value}"
        home.mkdir(exist_ok=True)
        stepper = self._stepper(stage)
        while (step := stage.search.next()) is not None:
            left_s = self.asked.budget_s - (time.monotonic() - self.begun)
            before = stage
            if left_s > 0:
                stage = self._step(stepper, stage, step, home, left_s)
                self.stages[number] = stage
                self._save()
            if stage is before:
                self.remarks.append("The budget is spent: --resume goes on, with a new --budget.")
                return

    def _stepper(self, stage: Stage) -> Stepper:
        """What measures steps of a stage. Raises ``UsageError``."""
        return Stepper(
            request=self.request,
            metric=self.asked.criterion.metric,
            most_rounds=self.asked.most_rounds,
            resume=self.asked.resume,
            quiet=self.asked.quiet,
            progress=self.progress,
        ).fitted_to(stage)

    def _step(
        self, stepper: Stepper, stage: Stage, step: Step, home: Path, budget_s: float
    ) -> Stage:
        """The stage with the answer of a step; the same one where nothing was measured."""
        say = bisection.Steps(self.progress, self.asked.quiet)
        say.begin(stage, step)
        try:
            answer = stepper.answer(stage, step, home / name_of(stage, step), budget_s)
        except CannotBeMeasured as error:
            (middle,) = step.points[1:-1]
            say.missing(stage, middle, error.why)
            return stage.without(middle, error.why)
        say.end(answer)
        if answer.verdict is StepVerdict.INCONCLUSIVE and not answer.rounds:
            return stage
        return stage.answered(step, answer)

    def _save(self) -> None:
        """Writes down how far it is. Raises ``HarnessError`` when the disk refuses."""
        formats.write(self.folder, KIND, bisection.plain(self._searched()))

    def _searched(self) -> Searched:
        good, bad = (spec.revision.text for spec in self.request.specs)
        if self.stages and max(len(good), len(bad)) > _MOST_OF_END:
            # A whole id; what stands on a chart is short.
            good, bad = self.stages[0].labels[0], self.stages[0].labels[-1]
        return Searched(
            ends=(good, bad),
            criterion=self.asked.criterion,
            faster=self.asked.faster,
            scenarios=tuple(scenario.name for scenario in self.request.scenarios),
            stages=tuple(self.stages),
            prefix=engines.prefix_of(self.request.engine),
            variant=self.request.specs[0].revision.variant,
            options=self.asked.options,
            remarks=tuple(self.remarks),
        )

    def _conclude(self, shown: Sequence[Table]) -> None:
        """Reports the result. Raises ``HarnessError``."""
        self._save()
        searched = self._searched()
        report = bisection.document(searched)
        names = [f"{KIND}.json", f"{KIND}.md"]
        names += concluding.draw_search(searched, self.folder, KIND)
        if self.asked.as_json:
            found = (why.of(self.folder / "why", name) for name in searched.scenarios)
            explained = [reasons.plain(one) for one in found if one]
            more = {"why": explained} if explained else {}
            print(json.dumps({**bisection.plain(searched), **more}, indent=2))
        else:
            print_tables(shown, self.progress)
            print_document(report, self.progress)
            where = f"Results in {self.folder}: {', '.join(names)}, a folder for each step"
            self.progress.print(where, soft_wrap=True)
        rendered = "\n".join([markdown.render(report), *map(markdown.render_table, shown)])
        publish_markdown(rendered, self.folder / f"{KIND}.md")


class _SavedPoint(msgspec.Struct):
    label: str
    missing: str | None


class _SavedStage(msgspec.Struct):
    points: list[_SavedPoint]


class _Saved(msgspec.Struct):
    stages: list[_SavedStage]


def _missing_before(folder: Path) -> list[Mapping[str, str]]:
    """What an interrupted search could not measure, by stage: it is not tried again."""
    saved = formats.read(folder, KIND, _Saved)
    stages = saved.stages if saved else []
    return [{one.label: one.missing for one in stage.points if one.missing} for stage in stages]
