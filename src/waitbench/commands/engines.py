"""``engines``: which there are, and what each costs beside the others."""

from dataclasses import replace
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.table import Table

from waitbench import engines as known
from waitbench import families
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.pipeline.comparing import Comparing
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.request import Request
from waitbench.reporting.console import make_console

EXAMPLES = """
\b
Examples:
  ./waitbench engines                                # which there are, and what each takes
  ./waitbench engines v0.21.1 python@floor timely@0.31.0
  ./waitbench engines v0.21.1 pathway@0.33.0 pathway@0.33.0+autocommit_ms:100 --rounds 10
"""


@with_request_options
def engines(
    revisions: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="REVISION",
            help="Revisions of any engines, such as python@floor; +KNOB:VALUE at the end sets a "
            "knob of the engine. Without any: a list of the engines.",
        ),
    ] = None,
    *,
    request: Request,
    rounds: options.Rounds = 5,
    results: options.NewResults = None,
    plot: options.Plot = True,
    quiet: options.Quiet = False,
) -> None:
    """Set engines side by side: what a worker of each costs while it waits, and how late it is.

    All are given the same work in one sitting: 16 partitions, items due by one schedule, a map, an
    output.
    """
    if not revisions:
        _list(make_console())
        raise typer.Exit
    chosen = tuple(one.name for one in families.ALL if one.across_engines)
    asked_for = replace(request, revisions=tuple(revisions), scenarios=request.scenarios or chosen)
    comparing = Comparing(
        gate=Gate(criteria=(), most_rounds=rounds),
        rounds=rounds,
        quick=False,
        extras=Extras(),
        results=results,
        resume=False,
        plot=plot,
        output=Output(quiet=quiet, as_json=False),
    )
    raise typer.Exit(comparing.compare(asked_for))


def _list(output: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("such as", no_wrap=True)
    table.add_column("what it does, what it takes")
    for engine in known.all_known():
        lines = [engine.remark()]
        if engine.settings:
            lines.append(f"knobs: {engine.knobs}")
        lines += filter(None, (engine.size, engine.missing_prerequisite()))
        table.add_row(known.prefix_of(engine) + engine.example, "\n".join(lines))
    output.print(table)
