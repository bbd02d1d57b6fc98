"""``bisect``: which release, or which commit, changed what a worker costs."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from waitbench import engines
from waitbench.analysis.bisection import Grain, Search, Searched, Stage, part_of_error
from waitbench.analysis.bisection_steps import Step, StepVerdict
from waitbench.analysis.criteria import Criterion
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.commands.search import (
    FEWEST,
    CannotBeMeasured,
    History,
    SearchMode,
    Stepper,
    missing_in,
    name_of,
    to_repeat,
)
from waitbench.environments.revisions import without_label
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.revision import SearchRange
from waitbench.model.why import Why
from waitbench.pipeline import concluding, gating
from waitbench.pipeline.concluding import publish_markdown
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import kept_in
from waitbench.reporting import bisection, markdown
from waitbench.reporting import why as reasons
from waitbench.reporting.console import make_console, print_document, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.progress import PreparationLog
from waitbench.store import comparisons, folders
from waitbench.system import endings, files
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
    all_parents: Annotated[
        bool,
        typer.Option(
            "--all-parents",
            help="Commits of merged branches too, in topological order.\n\n"
            "Neighbours may be of different branches. Without it, a culprit that is a merge is "
            "searched inside.",
        ),
    ] = False,
    max_rounds: Annotated[
        int,
        typer.Option(
            "--max-rounds", metavar="N", help="A step stays inconclusive after so many rounds."
        ),
    ] = 30,
    budget: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="No round begins after this much time; see --resume."),
    ] = 7200,
    full: options.Full = False,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Of each culprit and what was before it: which thread wakes up, and from where.",
        ),
    ] = False,
    results: options.NewResults = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a search: that of --results, or the latest."),
    ] = False,
    markdown: Annotated[
        Optional[Path], typer.Option(metavar="FILE", help="Write what was found as Markdown.")
    ] = None,
    quiet: options.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What was found as JSON on stdout, progress on stderr.")
    ] = False,
) -> None:
    """Find which release, then which commit, changed what a worker costs.

    The ends are measured first; where no change is proven, that is the answer. Each step measures
    the good end, a middle and the bad end in the same rounds. The chance that what is named is
    wrong is 5 % at most, over all steps together.
    """
    if releases and commits:
        raise UsageError("--releases and --commits: one kind only, or neither for both.")
    criterion = _criterion(fail_on, max_rounds)
    asked_for = replace(
        request,
        revisions=(good, bad),
        origin=OriginChoice.SOURCE if commits else OriginChoice.AUTO,
        required_metrics=frozenset({criterion.metric.key}),
    )
    bisecting = Bisecting(
        criterion=criterion,
        faster=find is Find.FASTER,
        which=SearchMode.RELEASES
        if releases
        else SearchMode.COMMITS
        if commits
        else SearchMode.BOTH,
        all_parents=all_parents,
        full=full,
        why=why,
        most_rounds=gating.last_look(max_rounds),
        budget_s=budget,
        results=results,
        resume=resume,
        markdown=markdown,
        quiet=quiet,
        as_json=as_json,
        options=to_repeat(request),
    )
    raise typer.Exit(bisecting.bisect(asked_for))


def _criterion(text: str, max_rounds: int) -> Criterion:
    """Raises ``UsageError`` for what a search cannot heed."""
    (criterion,) = gating.read_criteria([text], max_rounds, defaults=False)
    if criterion.floor or criterion.alone or criterion.together:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


_MOST_OF_END = 24
KIND = "bisect"
"""The name of the document, of the chart, and of the kind of results folder."""


@dataclass(frozen=True, kw_only=True)
class Bisecting:
    """What a search is to do."""

    criterion: Criterion
    faster: bool
    which: SearchMode
    all_parents: bool
    full: bool
    why: bool
    """Whether to look at who wakes up, of each culprit and what was before it."""
    most_rounds: int
    budget_s: float
    results: Path | None
    resume: bool
    markdown: Path | None
    quiet: bool
    as_json: bool
    options: tuple[str, ...]
    """Those that ``compare`` takes too, for the command that measures a culprit again."""

    def bisect(self, request: Request) -> ExitCode:
        """Searches. Raises ``HarnessError``."""
        self._validate()
        good, bad = map(without_label, request.revisions)
        if good == bad:
            raise UsageError(
                f"Both ends are {good}, so there is nothing to search between them. Name an older "
                f"revision first, such as: {called('bisect')} v0.16.2 main"
            )
        progress = make_console(stderr=self.as_json)
        valid = validate(request, PreparationLog(progress, quiet=self.quiet), quick=not self.full)
        history_of = History(self.which, self.all_parents, valid)
        # What cannot be searched is said before a folder is made.
        first = history_of.first()
        folder = self._claim(valid.labels)
        with folders.exclusive(folder, valid.cache), endings.noted(kept_in(folder)):
            return _Search(self, valid, history_of, folder, progress).carry_out(first)

    def _validate(self) -> None:
        if not self.budget_s > 0:
            raise UsageError(f"--budget {self.budget_s:g}: must be above zero seconds.")
        if self.markdown is not None:
            files.require_writable(self.markdown)
        Extras(why=self.why).validate()

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
    explained: list[Sequence[Why]] = field(default_factory=list)
    """Of each culprit and scenario, where it and what was before it wait."""
    begun: float = field(default_factory=time.monotonic)

    def carry_out(self, first: tuple[Grain, SearchRange]) -> ExitCode:
        """Searches stage after stage, and says what came of it."""
        missing = self._missing_before()
        self._keep()
        code = ExitCode.OK
        waiting = [first]
        while waiting:
            grain, stretch = waiting.pop(0)
            if len(stretch.points) < FEWEST:
                continue
            number = len(self.stages)
            self.stages.append(self._begin(grain, stretch, missing.get(number, {})))
            self.remarks += bisection.about_aside(self.stages[number], stretch.aside)
            try:
                self._search(number)
                waiting += self.history.inside(self.stages[number])
            except HarnessError as error:
                if not number:
                    raise
                # What the stages before have shown is worth to be said.
                self.remarks.append(str(error))
                code = ExitCode.FAILED
        shown: list[Table] = []
        try:
            for number, stage in enumerate(self.stages if self.asked.why else ()):
                home = self._home(number)
                shown += self._stepper(stage).explain(stage, home, self.explained)
        except HarnessError as error:
            self.remarks.append(f"Who wakes up was not seen: {error}")
            code = ExitCode.FAILED
        self._conclude(shown)
        return code

    def _begin(self, grain: Grain, stretch: SearchRange, missing: Mapping[str, str]) -> Stage:
        """A stage of which only is known what could not be measured before."""
        stage = Stage(
            grain=grain,
            points=stretch.points,
            labels=self.history.labels(stretch),
            search=Search.begin(
                points=len(stretch.points),
                margin=self.asked.criterion.margin,
                faster=self.asked.faster,
                part=part_of_error(len(self.stages), alone=self.asked.which is SearchMode.RELEASES),
            ),
        )
        for point, label in enumerate(stage.labels):
            if label in missing:
                stage = stage.without(point, missing[label])
        return stage

    def _search(self, number: int) -> None:
        """Carries a stage to its end, or to that of the budget."""
        home = self._home(number)
        home.mkdir(exist_ok=True)
        stepper = self._stepper(self.stages[number])
        while (step := self.stages[number].search.next()) is not None:
            left_s = self.asked.budget_s - (time.monotonic() - self.begun)
            if left_s <= 0:
                self.remarks.append("The budget is spent: --resume goes on, with a --budget anew.")
                return
            before = self.stages[number]
            self.stages[number] = self._step(stepper, before, step, home, left_s)
            if self.stages[number] is before:
                self.remarks.append(
                    "No round fits into what is left of the budget: --resume goes on."
                )
                return
            self._keep()

    def _home(self, number: int) -> Path:
        return self.folder / f"{number + 1}-{self.stages[number].grain.value}"

    def _stepper(self, stage: Stage) -> Stepper:
        """What measures steps of a stage. Raises ``UsageError``."""
        stepper = Stepper(
            request=self.request,
            metric=self.asked.criterion.metric,
            most_rounds=self.asked.most_rounds,
            resume=self.asked.resume,
            quiet=self.asked.quiet,
            progress=self.progress,
            python=None,
        )
        return stepper.fitted_to(stage)

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
            say.lack(stage, middle, error.why)
            return stage.without(middle, error.why)
        say.end(answer)
        if answer.says is StepVerdict.INCONCLUSIVE and not answer.rounds:
            return stage
        return stage.answered(step, answer)

    def _missing_before(self) -> Mapping[int, Mapping[str, str]]:
        """What an interrupted search could not measure, by stage: it is not tried again."""
        if not self.asked.resume:
            return {}
        return missing_in(self.folder, KIND)

    def _keep(self) -> None:
        """Writes down how far it is. Raises ``HarnessError`` when the disk refuses."""
        comparisons.write_document(self.folder, KIND, bisection.plain(self._searched()))

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
        """Says what was found wherever it was asked for. Raises ``HarnessError``."""
        self._keep()
        searched = self._searched()
        found = bisection.document(searched)
        names = [f"{KIND}.json", *concluding.draw_search(searched, self.folder, KIND)]
        if self.asked.as_json:
            why = {"why": list(map(reasons.plain, self.explained))} if self.explained else {}
            print(json.dumps({**bisection.plain(searched), **why}, indent=2))
        else:
            print_tables(shown, self.progress)
            print_document(found, self.progress)
            where = f"Results in {self.folder}: {', '.join(names)}, a folder for each step"
            self.progress.print(where, soft_wrap=True)
        rendered = "\n".join([markdown.render(found), *map(markdown.render_table, shown)])
        publish_markdown(rendered, self.asked.markdown)
