"""``bisect``: the release, or the commit, that changed the cost of a worker."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from waitbench.analysis.criteria import Criterion
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.environments.revisions import without_label
from waitbench.features.bisect import view
from waitbench.features.bisect.points import (
    FEWEST,
    CannotBeMeasured,
    History,
    StepRule,
    given_up,
    name_of,
    require_measurable,
)
from waitbench.features.bisect.search import LOOKS, RELEASES, End, Search, Step
from waitbench.features.bisect.view import Searched
from waitbench.model.errors import ExitCode, HarnessError, UsageError, masked
from waitbench.model.revision import SearchRange
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import gating
from waitbench.pipeline.comparing import measure
from waitbench.pipeline.concluding import publish_markdown
from waitbench.pipeline.gating import Gate, parse
from waitbench.pipeline.preparation import kept_in, prepare
from waitbench.pipeline.request import Request, validate
from waitbench.reporting import markdown
from waitbench.reporting.console import print_report
from waitbench.reporting.output import Output
from waitbench.store import folders, formats
from waitbench.system import files, shutdown
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
    bounded = replace(
        request,
        revisions=(good, bad),
        gate=Gate(criteria=(criterion,)),
        quick=not full,
    )
    output = Output(quiet=quiet)
    history = History(validate(bounded, output.log))
    # Raises before a folder is made if there is nothing to search.
    first = history.first()
    resumable = (lambda folder: files.is_there(folder / f"{KIND}.json")) if resume else None
    claim = folders.claimed(results, (KIND, *history.request.labels), resumable=resumable)
    with claim as folder, shutdown.noted(kept_in(folder)):
        run = BisectRun(
            criterion=criterion,
            faster=find == "faster",
            most_rounds=max(look for look in LOOKS if look <= rounds),
            budget_s=budget,
            options=_to_repeat(request),
            history=history,
            folder=folder,
            output=output,
        )
        raise typer.Exit(run.carry_out(first))


def _criterion(text: str, most_rounds: int, worker: WorkerFile | None) -> Criterion:
    """Reads the criterion of a search. Raises ``UsageError``."""
    if most_rounds < LOOKS[1]:
        raise UsageError(
            f"--rounds {most_rounds}: must be at least {LOOKS[1]}: with fewer nothing is certain."
        )
    (criterion,) = parse([text], gating.metrics_known(worker))
    if criterion.allowance or criterion.alone or criterion.each:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


def _to_repeat(request: Request) -> tuple[str, ...]:
    """The options with which ``compare`` measures the same scenarios."""
    typed = {
        "--worker": None if request.worker is None else str(request.worker.path),
        "-p": None if request.processes == 1 else str(request.processes),
        "-w": None if request.workers == 1 else str(request.workers),
        "--topology": request.topology,
        "--python": request.python,
        "--repo": None if request.repo is None else masked(request.repo),
    }
    words = [word for option, value in typed.items() if value for word in (option, value)]
    return (*words, *(word for setting in request.settings for word in ("--set", setting)))


KIND = "bisect"
"""The name of the documents, and of the kind of results folder."""


@dataclass(kw_only=True)
class BisectRun:
    """A search among releases, then among the commits of one of them."""

    criterion: Criterion
    faster: bool
    most_rounds: int
    budget_s: float
    options: tuple[str, ...]
    """Options of ``compare``, to measure the culprit again."""
    history: History
    folder: Path
    output: Output
    searches: list[Search] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def carry_out(self, first: SearchRange) -> ExitCode:
        """Searches, then reports. Raises ``HarnessError``."""
        code = ExitCode.OK
        try:
            search = self._search(first)
            is_proven = search.end in (End.FOUND, End.RANGE)
            if search.grain == RELEASES and is_proven and self.history.has_commits:
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

    def _search(self, points: SearchRange) -> Search:
        """Carries a search to its end, or to that of the budget."""
        search = Search(
            points=points.points,
            labels=self.history.labels(points),
            margin=self.criterion.margin,
            faster=self.faster,
        )
        self.searches.append(search)
        self._save()
        if points.begins_at_fork:
            self.remarks.append(
                f"{self.history.request.labels[0]} is on a branch of its own: the search begins "
                f"where the branch left, at {search.labels[0]}."
            )
        folder = self.folder / f"{len(self.searches)}-{search.grain}"
        folders.make_subfolder(folder)
        # One interpreter that fits both ends measures all points.
        ends, python = (0, len(search.points) - 1), self.history.request.typed.python
        python = self.history.specs(search, ends, python)[0].python.executable
        while (step := search.next()) is not None:
            left_s = self.budget_s - (time.monotonic() - self.begun)
            before = search
            if left_s > 0:
                search = self._step(search, step, python, folder / name_of(search, step), left_s)
                self.searches[-1] = search
                self._save()
            if search is before:
                self.remarks.append("The budget is spent: --resume goes on, with a new --budget.")
                break
        return search

    def _step(
        self, search: Search, points: tuple[int, ...], python: str, folder: Path, budget_s: float
    ) -> Search:
        """Returns the search with one more step; the same search if nothing was measured."""
        log = view.Steps(self.output.progress, quiet=self.output.quiet)
        log.begin(search, points)
        rule = StepRule(
            search=search,
            points=points,
            criterion=self.criterion,
            most_rounds=self.most_rounds,
            budget_s=budget_s,
        )
        try:
            step = self._measure(rule, python, folder)
        except CannotBeMeasured as error:
            (middle,) = points[1:-1]
            log.missing(search.labels[middle], str(error))
            return search.without(middle, str(error))
        log.end(step)
        return search if step.left is None and not step.rounds else search.and_then(step)

    def _measure(self, rule: StepRule, python: str, folder: Path) -> Step:
        """Measures the points of a step.

        Raises ``CannotBeMeasured`` about its middle, ``HarnessError`` about its ends.
        """
        search, points = rule.search, rule.points
        try:
            self.history.specs(search, points[1:-1], python)
        except UsageError as error:
            raise CannotBeMeasured(str(error)) from error
        specs = self.history.specs(search, points, python)
        prepared = prepare(replace(self.history.request, specs=specs), self.output)
        errors = {label: str(error) for label, error in prepared.errors.items()}
        require_measurable(search.labelled(points), errors)
        folders.make_subfolder(folder)
        records = measure(prepared, folder, self.output, rule).records
        require_measurable(prepared.labels, given_up(records))
        return rule.step(records)

    def _save(self) -> None:
        """Writes the state of the search. Raises ``HarnessError`` when the disk refuses."""
        formats.write(self.folder, KIND, view.as_json(self._searched()))

    def _searched(self) -> Searched:
        return Searched(
            criterion=self.criterion,
            faster=self.faster,
            scenarios=tuple(scenario.name for scenario in self.history.request.scenarios),
            searches=tuple(self.searches),
            options=self.options,
            remarks=tuple(self.remarks),
        )

    def _conclude(self) -> None:
        """Reports the result. Raises ``HarnessError``."""
        self._save()
        report = view.summarize(self._searched())
        where = f"{self.folder}: {KIND}.json, {KIND}.md, a folder for each step"
        links = (*report.links, ("Results", where))
        print_report(replace(report, links=links), self.output.progress)
        publish_markdown(markdown.render_report(report), self.folder / f"{KIND}.md")
