"""``bisect``: which release, or which commit, changed what a worker costs."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from waitbench.analysis.bisection import LOOKS, RELEASES, End, Search
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
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.revision import SearchRange
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import gating
from waitbench.pipeline.concluding import Output, publish_markdown
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.request import Request, validate
from waitbench.pipeline.resuming import kept_in
from waitbench.reporting import bisection, markdown
from waitbench.reporting.bisection import Searched
from waitbench.reporting.console import print_answer
from waitbench.store import folders, formats
from waitbench.system import endings, files
from waitbench.system.installation import called

EXAMPLES = """
\b
Examples:
  ./waitbench bisect v0.16.0 v0.21.1 -s partitioned-long-input --find faster
  ./waitbench bisect v0.20.1 main -s 'dynamic*' --fail-on idle:10%
  ./waitbench bisect 3f2a1b0 my-branch --repo ~/src/bytewax --fail-on wakeups:5% -p 2
"""


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
            help="The metric that changed, and the change that matters, such as wakeups:5%.",
        ),
    ] = "idle:10%",
    find: Annotated[
        Literal["slower", "faster"],
        typer.Option(help="Whether the cost rose, or fell, as after a fix."),
    ] = "slower",
    rounds: Annotated[
        int,
        typer.Option(metavar="N", help="The most rounds of a step: then it stays inconclusive."),
    ] = 30,
    budget: options.Budget = 7200,
    full: options.Full = False,
    results: options.NewResults = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue an interrupted search: that of --results, or the latest."
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Find which release, then which commit, changed what a worker costs.

    The ends are measured first; where no change is proven, that is the answer. Each step measures
    the good end, a middle and the bad end in the same rounds. The chance that what is named is
    wrong is 5 % at most, over all steps together. One culprit is named: run it again to find
    another one before it.
    """
    criterion = _criterion(fail_on, rounds, request.worker)
    ends = tuple(map(without_label, (good, bad)))
    if ends[0] == ends[1]:
        raise UsageError(
            f"Both ends are {ends[0]}, so there is nothing to search between them. Name an older "
            f"revision first, such as: {called('bisect')} v0.16.2 main"
        )
    asked_for = replace(
        request,
        revisions=(good, bad),
        required_metrics=frozenset({criterion.metric.key}),
        quick=not full,
    )
    output = Output(quiet=quiet)
    valid = validate(asked_for, output.log)
    history = History(valid)
    # What cannot be searched is an error before a folder is made.
    first = history.first()
    stepper = Stepper(
        request=valid,
        metric=criterion.metric,
        most_rounds=max(look for look in LOOKS if look <= rounds),
        output=output,
    )
    resumable = (lambda folder: files.is_there(folder / f"{KIND}.json")) if resume else None
    claim = folders.claimed(results, (KIND, *valid.labels), resumable=resumable)
    with claim as folder, endings.noted(kept_in(folder)):
        bisecting = Bisecting(
            criterion=criterion,
            faster=find == "faster",
            budget_s=budget,
            options=to_repeat(request),
            history=history,
            folder=folder,
            stepper=stepper,
        )
        raise typer.Exit(bisecting.carry_out(first))


def _criterion(text: str, most_rounds: int, worker: WorkerFile | None) -> Criterion:
    """Raises ``UsageError`` for what a search cannot heed."""
    known = gating.metrics_known(worker)
    if most_rounds < LOOKS[1]:
        raise UsageError(
            f"--rounds {most_rounds}: must be at least {LOOKS[1]}: with fewer nothing is certain."
        )
    (criterion,) = parse([text], known)
    if criterion.floor or criterion.alone or criterion.each:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


KIND = "bisect"
"""The name of the documents, and of the kind of results folder."""


@dataclass(kw_only=True)
class Bisecting:
    """A search at work; grows while it lasts."""

    criterion: Criterion
    faster: bool
    budget_s: float
    options: tuple[str, ...]
    """Those that ``compare`` takes too, for the command that measures the culprit again."""
    history: History
    folder: Path
    stepper: Stepper
    searches: list[Search] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def carry_out(self, found: SearchRange) -> ExitCode:
        """Searches releases, commits, or both, then reports. Raises ``HarnessError``."""
        code = ExitCode.OK
        try:
            search = self._search(found)
            proven = search.end in (End.FOUND, End.RANGE)
            if search.grain == RELEASES and proven and self.history.has_commits:
                commits = self.history.commits_of(search)
                if len(commits.points) >= FEWEST:
                    self._search(commits)
        except HarnessError as error:
            if not (self.searches and self.searches[0].steps):
                raise
            # The result of the steps before is still worth a report.
            self.remarks.append(str(error))
            code = ExitCode.FAILED
        self._conclude()
        return code

    def _search(self, found: SearchRange) -> Search:
        """Carries one search to its end, or to that of the budget."""
        search = Search(
            points=found.points,
            labels=self.history.labels(found),
            margin=self.criterion.margin,
            faster=self.faster,
        )
        self.searches.append(search)
        self._save()
        if found.begins_at_fork:
            self.remarks.append(
                f"{self.history.request.labels[0]} is on a branch of its own: the search begins "
                f"where the branch left, at {search.labels[0]}."
            )
        home = self.folder / f"{len(self.searches)}-{search.grain}"
        home.mkdir(exist_ok=True)
        stepper = self.stepper.fitted_to(search)
        while (points := search.next()) is not None:
            left_s = self.budget_s - (time.monotonic() - self.begun)
            before = search
            if left_s > 0:
                search = self._step(stepper, search, points, home, left_s)
                self.searches[-1] = search
                self._save()
            if search is before:
                self.remarks.append("The budget is spent: --resume goes on, with a new --budget.")
                break
        return search

    def _step(
        self, stepper: Stepper, search: Search, points: tuple[int, ...], home: Path, budget_s: float
    ) -> Search:
        """The search with one more step; the same one where nothing was measured."""
        say = bisection.Steps(stepper.output.progress, quiet=stepper.output.quiet)
        say.begin(search, points)
        try:
            step = stepper.step(search, points, home / name_of(search, points), budget_s)
        except CannotBeMeasured as error:
            (middle,) = points[1:-1]
            say.missing(search.labels[middle], error.why)
            return search.without(middle, error.why)
        say.end(step)
        if step.left is None and not step.rounds:
            return search
        return search.and_then(step)

    def _save(self) -> None:
        """Writes down how far it is. Raises ``HarnessError`` when the disk refuses."""
        formats.write(self.folder, KIND, bisection.plain(self._searched()))

    def _searched(self) -> Searched:
        request = self.history.request
        return Searched(
            criterion=self.criterion,
            faster=self.faster,
            scenarios=tuple(scenario.name for scenario in request.scenarios),
            searches=tuple(self.searches),
            options=self.options,
            remarks=tuple(self.remarks),
        )

    def _conclude(self) -> None:
        """Reports the result. Raises ``HarnessError``."""
        self._save()
        searched, progress = self._searched(), self.stepper.output.progress
        report = bisection.answer(searched)
        where = f"{self.folder}: {KIND}.json, {KIND}.md, a folder for each step"
        print_answer(replace(report, links=(*report.links, ("Results", where))), progress)
        publish_markdown(markdown.render_answer(report), self.folder / f"{KIND}.md")
