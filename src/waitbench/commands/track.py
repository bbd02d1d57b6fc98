"""``track``: measures what the history lacks, as a nightly job does, and names new steps."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from waitbench.analysis import history
from waitbench.analysis.sessions import name_of
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.engines import METRICS
from waitbench.environments import candidates, index
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.model.metrics import Metric
from waitbench.model.record import Series
from waitbench.model.revision import Origin, Revision, Source
from waitbench.pipeline import stored_sessions
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import Output, conclude
from waitbench.pipeline.criteria import metric_named
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.stored_sessions import Stored
from waitbench.reporting import history as reporting
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
        int, typer.Option(metavar="N", min=1, help="How many releases, or commits, to go back.")
    ] = 10,
    budget: options.Budget = 3600,
    rounds: options.Rounds = 5,
    metric: options.Metric = "idle",
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
        bool, typer.Option("--dry-run", help="List what would be measured, and measure nothing.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure what the history lacks: new revisions, and change points that need a second session.

    Each is measured beside the anchor. A change point is announced once, when a second session
    confirms it: exit 1 if it rose.
    """
    followed = metric_named(metric, METRICS, f"--metric {metric!r}")
    night = Night(metric=followed, store=results)
    begun, shown = time.monotonic(), Output(quiet=quiet)
    output = shown.answers
    anchor = anchor or night.commonest(request.engine.name)
    ends = (anchor, *([branch] if branch else []))
    # Of a worker the same window each night.
    is_quick = not full and request.worker is None
    nightly = replace(request, rounds=rounds, quick=is_quick, store=results)
    valid = validate(replace(nightly, revisions=ends), shown.log)
    name = _name_of(valid.specs[0].revision)
    texts = {**_candidates(branch, valid, newest), name: anchor}
    queue = night.due([one for one in texts if one != name], valid, name)
    code = ExitCode.OK
    for number, one in enumerate(queue, 1):
        output.print(f"{number} of {len(queue)}: {' '.join(one.revisions)}: {one.why}")
        if dry_run:
            continue
        if time.monotonic() - begun > budget:
            output.print("The budget is spent: the next call goes on from here.")
            break
        # What the history calls it is short, and the same every night.
        named = tuple(f"{name}={texts.get(name, name)}" for name in one.revisions)
        try:
            with run(replace(nightly, revisions=named), shown) as contents:
                code = max(code, conclude(contents, shown))
        except HarnessError as error:
            # One that cannot be measured does not keep the others from it.
            output.print(str(error), soft_wrap=True)
            code = max(code, error.exit_code)
    if not queue:
        output.print("Nothing is missing from the history.")
    raise typer.Exit(ExitCode.OK if dry_run else max(code, night.announce(valid, name, output)))


@dataclass(frozen=True, kw_only=True)
class Night:
    """The history as it is so far, of what is tracked."""

    metric: Metric
    store: Path

    def commonest(self, engine: str) -> str:
        """What all are measured beside. Raises ``UsageError`` where nobody named it yet."""
        sessions = self._read().sessions
        found = history.commonest(one for one in sessions if one.engine == engine)
        if found is None:
            raise UsageError(
                "There is no history yet. Name the anchor, which each session measures, such as: "
                "--anchor v0.21.1"
            )
        return found

    def due(
        self, candidates: Sequence[str], valid: ValidRequest, anchor: str
    ) -> Sequence[stored_sessions.Due]:
        """What to measure, in this order."""
        stored = self._read()
        measured = stored_sessions.measured(stored.tried, valid.engine.name, _series(valid))
        trends = self._trends(stored, valid, anchor)
        return list(stored_sessions.due(candidates, measured, anchor, trends))

    def announce(self, valid: ValidRequest, anchor: str, output: Console) -> ExitCode:
        """Announces confirmed change points, each once. Exit code 1 where one of them rose."""
        trends = self._trends(self._read(), valid, anchor)
        new = history.unannounced(trends, self.metric.name, acknowledged.read(self.store))
        called = {id(trend): title for title, trend in reporting.titled(trends).items()}
        for trend, step in new:
            note = reporting.change_points([("", step)], self.metric)
            output.print(f"{called[id(trend)]}: {note.level} {note.text}.")
        if new:
            acknowledged.add(
                self.store, [one.announced(self.metric.name, step) for one, step in new]
            )
        return ExitCode.REGRESSION if any(step.is_rise for _, step in new) else ExitCode.OK

    def _read(self) -> Stored:
        return stored_sessions.read([self.store], self.metric) if self.store.is_dir() else Stored()

    def _trends(self, stored: Stored, valid: ValidRequest, anchor: str) -> Sequence[history.Trend]:
        """Those of the scenarios as they are measured now."""
        wanted = set(_series(valid))
        found = [
            one
            for one in stored.sessions
            if one.engine == valid.engine.name and one.series in wanted
        ]
        return history.trends(found, anchor)


def _candidates(branch: str | None, valid: ValidRequest, newest: int) -> Mapping[str, str]:
    """What may be measured, in order of history: the name in the history, and what to type."""
    anchor = valid.specs[0]
    if branch is None:
        versions = [*islice(index.releases(valid.engine, anchor.python), newest)][::-1]
        return {name_of(Source(Origin.WHEEL, one)): valid.engine.tag_of(one) for one in versions}
    ends = anchor.revision, valid.specs[1].revision
    points = candidates.commits(valid.engine, valid.repository, *ends).points
    return {name_of(one.source): one.source.identity for one in points[1:][-newest:]}


def _name_of(anchor: Revision) -> str:
    """What the anchor is called in the history. Raises ``UsageError`` where it has no place."""
    if anchor.source.origin in (Origin.WHEEL, Origin.SOURCE):
        return name_of(anchor.source)
    raise UsageError(f"--anchor {anchor.label} may change: name a release or a commit.")


def _series(valid: ValidRequest) -> list[Series]:
    return [Series.of(one.name, str(valid.topology), one.parameters) for one in valid.scenarios]
