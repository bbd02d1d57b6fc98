"""``track``: measures what the history lacks, as a nightly job does, and names new steps."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from waitbench import engines
from waitbench.analysis import history
from waitbench.analysis.history import Due, Trend
from waitbench.analysis.sessions import name_of
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.environments import index
from waitbench.environments.candidates import Candidates
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.metrics import Metric
from waitbench.model.record import Announced, Series
from waitbench.model.revision import Commit, Release, Revision
from waitbench.pipeline import stored_sessions
from waitbench.pipeline.comparing import Comparing
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.stored_sessions import Stored, margin_of, metric_named
from waitbench.reporting import history as reporting
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import PreparationLog
from waitbench.store import acknowledged
from waitbench.system.places import RESULTS

EXAMPLES = """
\b
Examples:
  ./waitbench track --anchor v0.21.1                    # releases
  ./waitbench track main --anchor v0.21.1 --budget 3600 -s 'partitioned*' -s 'dynamic*'
  ./waitbench track main --results nightly/results
"""


@with_request_options
def track(
    branch: Annotated[
        Optional[str],
        typer.Argument(
            metavar="BRANCH", help="Its commits along first parents.", show_default="releases"
        ),
    ] = None,
    anchor: options.Anchor = None,
    newest: Annotated[
        int, typer.Option(metavar="N", help="Only so many releases, or commits, back.")
    ] = 10,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="No comparison begins after this much time.")
    ] = 3600,
    rounds: options.Rounds = 5,
    metric: options.Metric = "steady",
    margin: options.StepMargin = options.STEP_MARGIN,
    *,
    request: Request,
    full: options.Full = False,
    results: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The history: a folder with folders of results.",
            show_default="results",
        ),
    ] = RESULTS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be measured, and measure nothing.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure what the history lacks: new revisions, and change points that need a second session.

    Each is measured beside the anchor. A change point is announced once, when a second session
    confirms it: exit 1 if it rose.
    """
    for name, number in (("--newest", newest), ("--rounds", rounds)):
        if number < 1:
            raise UsageError(f"{name} {number}: must be at least 1.")
    if not budget > 0:
        raise UsageError(f"--budget {budget:g}: must be above zero seconds.")
    tracking = Tracking(
        branch=branch,
        anchor=anchor,
        newest=newest,
        budget_s=budget,
        rounds=rounds,
        metric=metric_named(metric),
        margin=margin_of(margin),
        full=full,
        store=results,
        dry_run=dry_run,
        quiet=quiet,
    )
    raise typer.Exit(tracking.track(request))


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """What a night is to do."""

    branch: str | None
    anchor: str | None
    newest: int
    budget_s: float
    rounds: int
    metric: Metric
    margin: float
    full: bool
    store: Path
    dry_run: bool
    quiet: bool

    def track(self, request: Request) -> ExitCode:
        """Measures, and says each step that is confirmed for the first time.

        Raises ``HarnessError`` where there is nothing to begin with.
        """
        begun, output = time.monotonic(), make_console()
        stored = self._stored()
        anchor = self._anchor(stored)
        ends = (anchor, *([self.branch] if self.branch else []))
        say = PreparationLog(output, quiet=self.quiet)
        valid = validate(replace(request, revisions=ends), say, quick=not self.full)
        _require_plain(valid)
        name = _name_of(valid.specs[0].revision)
        texts = {**self._candidates(valid), name: anchor}
        code, prefix = ExitCode.OK, engines.prefix_of(valid.engine)
        queue = self._due([one for one in texts if one != name], stored, valid, name)
        for number, one in enumerate(queue, 1):
            output.print(f"{number} of {len(queue)}: {' '.join(one.revisions)}: {one.why}")
            if self.dry_run:
                continue
            if time.monotonic() - begun > self.budget_s:
                output.print("The budget is spent: the next call goes on from here.")
                break
            # What the history calls it is short, and the same every night.
            named = tuple(f"{name}={texts.get(name, prefix + name)}" for name in one.revisions)
            code = max(code, self._measure(replace(request, revisions=named), output))
        if not queue:
            output.print("The history lacks nothing of this.")
        if self.dry_run:
            return ExitCode.OK
        return max(code, self._announce(self._trends(self._stored(), valid, name), output))

    def _anchor(self, stored: Stored) -> str:
        """What all are measured beside. Raises ``UsageError`` where nobody named it yet."""
        if self.anchor is not None:
            return self.anchor
        engine = engines.split(self.branch)[0] if self.branch else engines.DEFAULT
        found = history.commonest(one for one in stored.sessions if one.engine == engine.name)
        if found is None:
            raise UsageError(
                "There is no history yet. Name what all are to be measured beside, such as: "
                "--anchor v0.21.1"
            )
        return engines.prefix_of(engine) + found

    def _stored(self) -> Stored:
        return stored_sessions.read([self.store], self.metric) if self.store.is_dir() else Stored()

    def _trends(self, stored: Stored, valid: ValidRequest, anchor: str) -> Sequence[Trend]:
        """Those of the scenarios as they are measured now."""
        wanted = set(_series(valid))
        found = [
            one
            for one in stored.sessions
            if one.engine == valid.engine.name and one.series in wanted
        ]
        return history.trends(found, anchor, self.margin)

    def _due(
        self, candidates: Sequence[str], stored: Stored, valid: ValidRequest, anchor: str
    ) -> Sequence[Due]:
        measured = history.measured(stored.tried, valid.engine.name, _series(valid))
        trends = self._trends(stored, valid, anchor)
        return list(history.due(candidates, measured, anchor, trends))

    def _candidates(self, valid: ValidRequest) -> Mapping[str, str]:
        """What may be measured, in order of history: the name in the history, and what to type."""
        prefix = engines.prefix_of(valid.engine)
        good = valid.specs[0]
        if self.branch is None:
            newest = islice(index.releases(valid.engine, good.python), self.newest)
            versions = [*newest][::-1]
            return {name_of(Release(one)): prefix + valid.engine.tag_of(one) for one in versions}
        bad = valid.specs[1].revision
        points = Candidates(valid.engine, valid.repositories).commits(good.revision, bad).points
        return {
            name_of(one.source): prefix + one.source.identity for one in points[1:][-self.newest :]
        }

    def _measure(self, request: Request, output: Console) -> ExitCode:
        comparing = Comparing(
            gate=Gate(criteria=(), most_rounds=self.rounds),
            rounds=self.rounds,
            quick=not self.full,
            results=None,
            store=self.store,
            resume=False,
            plot=False,
            output=Output(quiet=self.quiet, as_json=False),
        )
        try:
            return comparing.compare(request)
        except HarnessError as error:
            # One that cannot be measured does not keep the others from it.
            output.print(str(error), soft_wrap=True)
            return error.exit_code

    def _announce(self, trends: Sequence[Trend], output: Console) -> ExitCode:
        """Announces confirmed change points, each once. Exit code 1 where one of them rose."""
        new = history.unannounced(trends, self.metric.name, acknowledged.read(self.store))
        called = {id(trend): title for title, trend in reporting.titled(trends).items()}
        for trend, step in new:
            output.print(f"{called[id(trend)]}: {reporting.sentence(step, self.metric)}")
        if new:
            acknowledged.add(
                self.store,
                [
                    Announced(
                        series=trend.series,
                        metric=self.metric.name,
                        after=step.after,
                        rose=step.is_rise,
                    )
                    for trend, step in new
                ],
            )
        return ExitCode.REGRESSION if any(step.is_rise for _, step in new) else ExitCode.OK


def _name_of(anchor: Revision) -> str:
    """What the anchor is called in the history. Raises ``UsageError`` where it has no place."""
    if isinstance(anchor.source, (Release, Commit)):
        return name_of(anchor.source)
    raise UsageError(f"--anchor {anchor.label}: anybody may change it. Name a release or a commit.")


def _require_plain(valid: ValidRequest) -> None:
    """Raises ``UsageError`` where an end has anything that its neighbours would not have."""
    for spec in valid.specs:
        if spec.revision.variant:
            raise UsageError(
                f"{spec.revision.label}: the history's releases and commits are measured as they "
                "are. Name one without packages and settings, with --anchor."
            )


def _series(valid: ValidRequest) -> list[Series]:
    return [Series.of(one.name, str(valid.topology), one.parameters) for one in valid.scenarios]
