"""``merge``: the shards of several machines -> one comparison."""

from pathlib import Path
from typing import Annotated

import typer

from waitbench.commands import options
from waitbench.pipeline.concluding import conclude
from waitbench.pipeline.extension import files_of
from waitbench.pipeline.gating import gate_of
from waitbench.reporting.output import Output
from waitbench.store import folders, shards

EXAMPLES = """
\b
Examples:
  ./compare.sh main my-branch --gate --shard 1/2 --results one    # on one machine
  ./compare.sh main my-branch --gate --shard 2/2 --results two    # on another
  ./waitbench merge one two --results whole                       # where both folders are
"""


def merge(
    shares: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER",
            help="The results of every share of a comparison.",
        ),
    ],
    results: options.NewResults = None,
    plot: options.Plot = True,
    quiet: options.Quiet = False,
    verbose: options.Verbose = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="The comparison as JSON on stdout.")
    ] = False,
) -> None:
    """Make one comparison of its shares: tables, verdict, charts and exit code as compare has."""
    whole, records = shards.merge([shards.read(folder) for folder in shares])
    gate_of(whole)  # Raises before anything is created.
    output = Output(quiet=quiet, as_json=as_json, verbosity=verbose)
    with folders.claimed(results, whole.labels) as folder:
        contents = shards.write(folder, whole, records, files_of(shares))
        code = conclude(contents, output, plot=plot)
    raise typer.Exit(code)
