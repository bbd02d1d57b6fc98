"""``merge``: one comparison out of the shares that several machines measured."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.cli import options
from waitbench.cli.machines.everywhere import Everywhere
from waitbench.cli.machines.merging import Merging
from waitbench.cli.output import Output
from waitbench.model.errors import UsageError

EXAMPLES = """
\b
Examples:
  ./compare.sh main my-branch --gate --shard 1/2 --results one    # on one machine
  ./compare.sh main my-branch --gate --shard 2/2 --results two    # on another
  ./waitbench merge one two --results whole                       # where both folders are
  ./waitbench merge --everywhere small large arm                  # all of it on each machine
"""


def merge(
    shares: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...",
            help="The results of every share of a comparison; or of every machine.",
        ),
    ],
    everywhere: Annotated[
        bool,
        typer.Option(
            "--everywhere",
            help="These are not shares, but the whole comparison on several machines: say what "
            "each of them found, what holds for all, and where they disagree.",
        ),
    ] = False,
    results: options.NewResults = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="Write the gate's verdict, or what machines found, as Markdown."
        ),
    ] = None,
    junit: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Write the gate's verdict as JUnit XML."),
    ] = None,
    html: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Write a page of the comparison, for a browser."),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw charts at the end.")] = True,
    quiet: options.Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The comparison as JSON on stdout.")
    ] = False,
) -> None:
    """Make one comparison of its shares: tables, verdict, charts and exit code as compare has."""
    output = Output(quiet=quiet, as_json=as_json)
    if everywhere:
        for name, path in (("--junit", junit), ("--html", html)):
            if path is not None:
                raise UsageError(f"{name} is of one comparison: leave it out, or --everywhere.")
        several = Everywhere(results=results, markdown=markdown, output=output)
        raise typer.Exit(several.report(shares))
    merging = Merging(
        results=results,
        markdown=markdown,
        junit=junit,
        html=html,
        plot=plot,
        output=output,
    )
    raise typer.Exit(merging.merge(shares))
