"""``compare``: measures revisions, and reports their differences or judges them."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from waitbench.analysis.rule import RULE
from waitbench.commands import options
from waitbench.pipeline import gating
from waitbench.pipeline.comparing import run
from waitbench.pipeline.concluding import conclude
from waitbench.pipeline.extension import extensions
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.request import Request
from waitbench.reporting.output import Output

EXAMPLES = """
\b
Examples:
  ./compare.sh v0.16.0 v0.16.1
  ./compare.sh main my-branch --gate    # exit 1 if the branch costs more CPU
  ./compare.sh --worker workers/queues/rq.toml 2.2.0 --limit idle:0.5%
  ./compare.sh v0.16.0 2fa6676c --scenario 'partitioned*' --processes 2
  ./compare.sh before=main after=./bytewax --origin source --rounds 10
  ./compare.sh A=v0.21.1 B=v0.21.1            # a revision with itself: how noisy is this machine?
  ./compare.sh main my-branch --fail-on system:10% --fail-on cpu:5%,20ms
""" + "".join(f"  {kind.EXAMPLE}\n" for kind in extensions() if kind.EXAMPLE)

ROUNDS, GATE_ROUNDS, GATE_BUDGET_S = 5, RULE.analyses[-1], 1800


@partial(options.with_request_options, extensions=extensions())
def compare(
    revisions: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="REVISION",
            help="The baseline, then candidates: releases, commits, branches, folders, wheels, or "
            "LABEL=REVISION.",
        ),
    ] = None,
    *,
    context: typer.Context,
    request: Request,
    rounds: Annotated[
        Optional[int],
        typer.Option(
            metavar="N",
            min=1,
            help="Rounds after a warm-up; with a gate, the most."
            "\n\nA round is a run of each revision in each scenario, in balanced order. The gate "
            f"looks after {', '.join(map(str, RULE.analyses[:-1]))} and {GATE_ROUNDS} of them. "
            "Questions still open after the last round are inconclusive.",
            show_default=f"{ROUNDS}, with a gate {GATE_ROUNDS}",
        ),
    ] = None,
    gate: options.GateDefaults = False,
    fail_on: options.FailOn = [],
    limit: options.Limits = [],
    budget: Annotated[
        Optional[float],
        typer.Option(
            metavar="SECONDS",
            parser=options.parse_seconds,
            help="Measure no longer than this.",
            show_default=f"none, with a gate {GATE_BUDGET_S}",
        ),
    ] = None,
    inconclusive: Annotated[
        Literal["error", "pass"],
        typer.Option(
            metavar="error|pass",
            help="Exit with 3, or with 0, if questions stay open.\n\nIf no criterion failed.",
        ),
    ] = "error",
    accepted: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE.toml", help="Regressions accepted for a time, with reasons."),
    ] = None,
    full: options.Full = False,
    origin: options.Origin = "auto",
    results: options.NewResults = None,
    resume: options.Resume = False,
    plot: options.Plot = True,
    quiet: options.Quiet = False,
    verbose: options.Verbose = 0,
    as_json: options.AsJson = False,
) -> None:
    """Install each revision, run them alternately, and report the differences."""
    criteria = gating.read_criteria(
        fail_on,
        limit,
        request.worker,
        with_defaults=gate,
        with_limits_of_file=gate or (len(revisions or ()) == 1 and not request.survey_option),
    )
    chosen_gate = Gate(
        criteria=criteria,
        most_rounds=gating.last_analysis(GATE_ROUNDS if rounds is None or not criteria else rounds),
        budget_s=budget or (GATE_BUDGET_S if criteria else math.inf),
        inconclusive_passes=inconclusive == "pass",
        acceptances=gating.read_accepted(accepted, request.worker) if accepted else (),
    )
    request = replace(
        request,
        revisions=tuple(revisions or ()),
        origin=origin,
        gate=chosen_gate,
        rounds=ROUNDS if rounds is None else rounds,
        quick=(chosen_gate.is_on or bool(request.survey_option)) and not full,
        results=results,
        resume=resume,
    )
    output = Output(quiet=quiet, as_json=as_json, verbosity=verbose)
    elsewhere = (it.run(request, output, context) for it in request.extensions)
    with next(filter(None, elsewhere), None) or run(request, output) as contents:
        code = conclude(contents, output, plot=plot)
    raise typer.Exit(code)
