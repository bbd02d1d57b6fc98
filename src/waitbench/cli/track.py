"""``track``: measures what the history lacks, as a nightly job does, as it is typed."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.cli import options
from waitbench.cli.asking import asking
from waitbench.cli.past import margin_of, metric_named
from waitbench.cli.request import Request
from waitbench.cli.tracking import Tracking
from waitbench.model.errors import UsageError
from waitbench.system.places import RESULTS

EXAMPLES = """
\b
Examples:
  ./waitbench track --anchor v0.21.1                    # releases
  ./waitbench track main --anchor v0.21.1 --budget 3600 -s 'partitioned*' -s 'dynamic*'
  ./waitbench track main --results nightly/results
"""


@asking
def track(
    branch: Annotated[
        Optional[str],
        typer.Argument(
            metavar="[BRANCH]", help="Its commits along first parents. Default: releases."
        ),
    ] = None,
    anchor: options.Anchor = None,
    newest: Annotated[
        int, typer.Option(metavar="N", help="Only so many releases, or commits, back.")
    ] = 10,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="No comparison begins after this much time.")
    ] = 3600,
    rounds: Annotated[int, typer.Option(help="Of each comparison.")] = 5,
    metric: options.Metric = "steady",
    margin: options.StepMargin = options.STEP_MARGIN,
    *,
    request: Request,
    full: options.Full = False,
    results: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="The history: a folder with folders of results."),
    ] = RESULTS,
    instruments: options.Instruments = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be measured, and measure nothing.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure what the history lacks: new releases or commits, and steps that need a second look.

    Each is measured beside the anchor and the nearest one that is measured, so that it joins the
    history by ratios. A step is said once, when a second sitting confirms it: exit 1 if it rose.
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
    raise typer.Exit(tracking.track(replace(request, instrumented=instruments)))
