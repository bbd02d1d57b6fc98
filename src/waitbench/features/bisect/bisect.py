"""``bisect``: finds the release, or the commit, that changed the cost of a worker."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from waitbench.analysis.criteria import Criterion
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.environments import ranges
from waitbench.environments.origins import OriginResolver
from waitbench.environments.revisions import spec_of
from waitbench.features.bisect import view
from waitbench.features.bisect.search import ANALYSES, RELEASES, Search, StepRule, given_up
from waitbench.features.bisect.view import Bisection
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.record import ScenarioResults
from waitbench.model.revision import EnvironmentSpec, OriginChoice, SearchRange
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import gating
from waitbench.pipeline.comparing import measure
from waitbench.pipeline.concluding import publish_markdown
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.preparation import interruption_message
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.reporting import markdown
from waitbench.reporting.console import print_report
from waitbench.reporting.output import Output
from waitbench.store import folders, formats
from waitbench.system import shutdown
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
            metavar="METRIC:PERCENT%",
            help="The metric that changed, and the change that matters, such as wakeups:5%.",
        ),
    ] = "idle:10%",
    find: Annotated[
        Literal["slower", "faster"],
        typer.Option(help="Whether the cost rose, or fell, as after a fix."),
    ] = "slower",
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N", min=ANALYSES[1], help="The most rounds of a step, even if inconclusive."
        ),
    ] = 30,
    budget: options.Budget = 7200,
    full: options.Full = False,
    results: options.NewResults = None,
    resume: options.Resume = False,
    quiet: options.Quiet = False,
) -> None:
    """Find which release, then which commit, changed what a worker costs.

    The ends are measured first. If they show no certain change, the search ends. Each step measures
    the good end, a middle and the bad end in the same rounds. The chance of a wrong answer is 5 %
    at most, over all steps together. The last of several changes is reported.
    """
    criterion = _criterion(fail_on, request.worker)
    ends = [text.partition("=")[2] or text for text in (good, bad)]
    if ends[0] == ends[1]:
        raise UsageError(
            f"Both ends are {ends[0]}, so there is nothing to search between them. Name an older "
            f"revision first, such as: {called('bisect')} v0.16.2 main"
        )
    output, gate = Output(quiet=quiet), Gate(criteria=(criterion,))
    bounded = replace(request, revisions=(good, bad), gate=gate, quick=not full)
    valid = validate(bounded, output.log)
    # Raises before a folder is made if there is nothing to search.
    first = _first_range(valid)
    names = [scenario.name for scenario in valid.scenarios]
    identity = {
        "good": first.points[0].label, "bad": first.points[-1].label,
        "criterion": str(criterion), "find": find, "scenarios": names,
    }  # fmt: skip

    def has_begun(folder: Path) -> bool:
        begun = formats.read(folder, KIND, dict[str, Any])
        return begun is not None and identity.items() <= begun.items()

    claim = folders.claimed(results, (KIND, *valid.labels), resumable=has_begun if resume else None)
    with claim as folder, shutdown.advice_if_interrupted(folder, interruption_message(folder)):
        run = BisectRun(
            valid=valid,
            criterion=criterion,
            faster=find == "faster",
            scenarios=tuple(names),
            most_rounds=max(number for number in ANALYSES if number <= rounds),
            budget_s=budget,
            folder=folder,
            output=output,
        )
        raise typer.Exit(run.carry_out(first))


def _criterion(text: str, worker: WorkerFile | None) -> Criterion:
    """Reads the criterion of a search. Raises ``UsageError``."""
    criterion = gating.parse_rise(text, gating.all_metrics(worker))
    if criterion.allowance or criterion.alone or criterion.each:
        raise UsageError(f"--fail-on {text!r}: a search takes METRIC:PERCENT% only.")
    return criterion


KIND = "bisect"
"""The name of the files of the result, and a part of the name of a new folder."""


def _first_range(valid: ValidRequest) -> SearchRange:
    """The first points to search: releases between two releases, else commits.

    Raises ``UsageError`` if there are none.
    """
    good, bad = valid.specs
    if good.origin is bad.origin and good.origin.is_release:
        return ranges.releases(valid.engine, good, bad, good.python)
    commits = ranges.commits(valid.engine, valid.repository, good, bad)
    if not commits.points[1:]:
        raise UsageError(
            f"Nothing between {good.label} and {bad.label} can change the package: no file "
            "that it is built from differs."
        )
    return commits


@dataclass(kw_only=True)
class BisectRun(Bisection):
    """A bisection that measures its steps, and stores them in a folder."""

    valid: ValidRequest
    most_rounds: int
    budget_s: float
    folder: Path
    output: Output
    begun: float = field(default_factory=time.monotonic)

    def carry_out(self, first: SearchRange) -> ExitCode:
        """Searches, then reports. Raises ``HarnessError`` if not a single step was measured."""
        code, engine, repository = ExitCode.OK, self.valid.engine, self.valid.repository
        try:
            search = self._search(first)
            if search.kind == RELEASES and search.is_proven and repository is not None:
                suspects = (search.points[point] for point in search.suspects)
                good, bad = (spec_of(it.label, it.source, engine) for it in suspects)
                commits = ranges.commits(engine, repository, good, bad)
                if commits.points[1:]:
                    self._search(commits)
        except HarnessError as error:
            if not (self.searches and self.searches[0].steps):
                raise
            # Earlier steps still have a result.
            self.remarks.append(str(error))
            code = ExitCode.FAILED
        self._save()
        report = view.summarize(self)
        where = f"{self.folder}: {KIND}.json, {KIND}.md, a folder for each step"
        shown = () if self.output.quiet else report.tables
        report_shown = replace(report, links=(("Results", where),), tables=shown)
        print_report(report_shown, self.output.progress)
        publish_markdown(self.folder / f"{KIND}.md", markdown.render_report(report))
        return code

    def _search(self, span: SearchRange) -> Search:
        """Carries out a search, until it ends or the budget is spent."""
        search = Search(points=span.points, margin=self.criterion.margin, faster=self.faster)
        self.searches.append(search)
        # A resumed search keeps its file until a step has shown that the command is the same.
        if not (self.folder / f"{KIND}.json").exists():
            self._save()
        if span.begins_at_fork:
            self.remarks.append(
                f"{self.valid.labels[0]} is on a branch of its own: the search begins where it "
                f"forked, at {search.points[0].label}."
            )
        folder = self.folder / f"{len(self.searches)}-{search.kind}"
        folders.make_subfolder(folder)
        # All points run on one Python that both ends support.
        ends = self._specs(search, (0, len(search.points) - 1), self.valid.request.python)
        python = ends[0].python.executable
        while (next_points := search.next()) is not None:
            before, left_s = search, self.budget_s - (time.monotonic() - self.begun)
            if left_s > 0:
                rule = StepRule(
                    search=search,
                    points=next_points,
                    criterion=self.criterion,
                    most_rounds=self.most_rounds,
                    budget_s=left_s,
                )
                search = self.searches[-1] = self._step(rule, python, folder)
                self._save()
            if search is before:
                self.remarks.append(
                    "The budget is spent, or no round has the metric for every revision: continue "
                    "with --resume and a new --budget, or name other scenarios."
                )
                break
        return search

    def _step(self, rule: StepRule, python: str, folder: Path) -> Search:
        """Returns the search with one more step; the same search if no round was complete.

        Raises ``HarnessError`` if an end cannot be measured.
        """
        search, points, log = rule.search, rule.points, self.output.log
        log.say(view.line_before(search, points), "bold")
        records, missing = self._measure(rule, python, folder / _name_of(search, points))
        if not missing:
            step = rule.step(records)
            log.say(view.line_after(step))
            return replace(search, steps=(*search.steps, step)) if step.rounds else search
        ends = search.labels_of(search.suspects)
        # Without an end there is no search, so a missing end is reported first.
        label = min(missing, key=lambda label: label not in ends)
        if label in ends:
            raise HarnessError(
                f"{label} cannot be measured, so there is nothing to search from: {missing[label]}"
            )
        log.say(view.missing(label, missing[label]), "yellow")
        labels = [point.label for point in search.points]
        return search.without(labels.index(label), missing[label])

    def _measure(
        self, rule: StepRule, python: str, folder: Path
    ) -> tuple[Sequence[ScenarioResults], Mapping[str, str]]:
        """Measures the points of a step. Returns records, and by label why points are missing."""
        search, points = rule.search, rule.points
        try:
            # Resolved alone first: if this fails, only the middle is missing.
            self._specs(search, points[1:-1], python)
            specs = self._specs(search, points, python)
        except UsageError as error:
            if not points[2:]:
                raise
            return (), dict.fromkeys(search.labels_of(points[1:-1]), str(error))
        folders.make_subfolder(folder)
        records = measure(replace(self.valid, specs=specs), folder, self.output, rule).records
        return records, given_up(records)

    def _specs(
        self, search: Search, points: Sequence[int], python: str | None
    ) -> tuple[EnvironmentSpec, ...]:
        """The specs of environments for some points, with their Python. Raises ``UsageError``."""
        engine, valid = self.valid.engine, self.valid
        resolver = OriginResolver(engine, valid.repository, valid.cache)
        named = (search.points[point] for point in points)
        specs = [spec_of(point.label, point.source, engine) for point in named]
        origin: OriginChoice = "wheel" if search.kind == RELEASES else "source"
        return resolver.choose(specs, origin, python) if specs else ()

    def _save(self) -> None:
        """Writes all searches so far. Raises ``HarnessError`` when the disk refuses."""
        formats.write(self.folder, KIND, view.as_json(self))


def _name_of(search: Search, points: Sequence[int]) -> str:
    """Names the folder of the next step by its number and the new point, or by both ends."""
    good, *middle, bad = (re.sub(r"[^\w.+-]+", "-", label) for label in search.labels_of(points))
    return f"{len(search.steps) + 1:02d}-{middle[0] if middle else f'{good}-{bad}'}"
