"""``history``: the cost of each revision relative to an anchor, over all stored comparisons."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.features.history import view
from waitbench.features.history.sessions import HistorySession, read
from waitbench.features.history.trends import trends
from waitbench.model.errors import ExitCode, UsageError, hint
from waitbench.model.metrics import BY_NAME
from waitbench.pipeline.gating import metric_named
from waitbench.reporting.console import make_console, print_tables
from waitbench.store.comparisons import MEASURE_FIRST
from waitbench.system.paths import RESULTS

EXAMPLES = """
\b
Examples:
  ./waitbench history
  ./waitbench history --metric wakeups -s 'partitioned*' --anchor v0.21.1
  ./waitbench history results nightly/results --json >history.json
"""

_NEWEST = 20
"""The number of newest revisions in a table, which also has those at change points."""

MetricOption = Annotated[
    str, typer.Option("--metric", metavar="METRIC", help="The cost to follow.")
]
AnchorOption = Annotated[
    Optional[str],
    typer.Option(
        "--anchor",
        metavar="REVISION",
        help="The release or commit that all figures are relative to.",
        show_default="the revision in most sessions",
    ),
]


def history(
    folders: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="FOLDER",
            help="Folders that contain folders of results, at any depth.",
            show_default="results",
        ),
    ] = None,
    metric: MetricOption = "idle",
    scenario: Annotated[
        list[str],
        typer.Option("--scenario", "-s", metavar="GLOB", help="Only these scenarios; repeatable."),
    ] = [],
    anchor: AnchorOption = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what each revision costs relative to an anchor, and which revisions changed the cost.

    Two comparisons give different figures even for the same revision, so only comparisons that
    measured the anchor count. Each machine has its own history.
    """
    followed = metric_named(metric, BY_NAME.values(), f"--metric {metric!r}")
    stored = read(folders or [RESULTS], followed)
    sessions = [
        session
        for session in stored.sessions
        if not scenario or any(fnmatchcase(session.series.scenario, glob) for glob in scenario)
    ]
    if not sessions:
        has = f"has {metric}{' in ' if scenario else ''}{', '.join(scenario)}"
        raise UsageError(f"No stored comparison of two revisions {has}. {MEASURE_FIRST}")
    histories = trends(sessions, _name_of_anchor(anchor, sessions) if anchor else None)
    if as_json:
        print(json.dumps(view.as_json(histories), indent=2))
    else:
        titled = [(trend, view.title_of(trend, histories)) for trend in histories]
        print_tables([view.table(*it, _NEWEST) for it in titled], make_console())
    if stored.unreadable:
        # The exit code says that the history is incomplete.
        raise typer.Exit(ExitCode.FAILED)


def _name_of_anchor(text: str, sessions: Sequence[HistorySession]) -> str:
    """The name of an anchor in histories. Raises ``UsageError`` if no session measured it."""
    measured = {it for session in sessions for it in session.logs}
    revisions = sorted(measured, key=lambda revision: revision.order)
    for revision in revisions:
        if text in (revision.name, revision.commit):
            return revision.name
    suggestion = hint(text, (revision.name for revision in revisions))
    raise UsageError(f"--anchor {text!r} is in none of these comparisons{suggestion}.")
