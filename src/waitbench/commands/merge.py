"""``merge``: one comparison out of the shares that several machines measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.model.errors import ExitCode
from waitbench.model.share import Share
from waitbench.pipeline import paging
from waitbench.pipeline.concluding import Concluding, Output
from waitbench.pipeline.explaining import kept_tables
from waitbench.pipeline.gating import Gate
from waitbench.store import folders, shares
from waitbench.system import files
from waitbench.system.places import RESULTS

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
    html: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="Write a page of the comparison, for a browser."),
    ] = None,
    plot: options.Plot = True,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The comparison as JSON on stdout.")
    ] = False,
) -> None:
    """Make one comparison of its shares: tables, verdict, charts and exit code as compare has."""
    output = Output(quiet=quiet, as_json=as_json, verbose=verbose)
    merging = Merging(
        results=results,
        html=html,
        plot=plot,
        output=output,
    )
    raise typer.Exit(merging.merge(shares))


@dataclass(frozen=True, kw_only=True)
class Merging:
    """How one comparison is made of shares."""

    results: Path | None
    store: Path = RESULTS
    """Where a folder is made if none is named."""
    html: Path | None = None
    plot: bool
    output: Output

    def merge(self, named: Sequence[Path]) -> ExitCode:
        """Merges folders into a new one, and says what the comparison means.

        Raises ``UsageError`` where they are not all shares of one comparison; nothing is created
        then.
        """
        whole, records = shares.merge([shares.read(folder) for folder in named])
        gate = Gate.read_settings(whole.settings, records)
        gate.validate()
        if self.html is not None:
            files.require_writable(self.html)
        names = tuple(record.scenario for record in records)
        with folders.claimed(self.results, whole.labels, store=self.store) as folder:
            shares.write(folder, whole, records, named)
            shown = {name: kept_tables(folder, name) for name in names}
            concluding = Concluding(
                gate=gate,
                share=Share(scenarios=names, of=names),
                plot=self.plot,
                output=self.output,
            )
            for record in records:
                concluding.sum_up(record, shown[record.scenario])
            code = concluding.conclude(records, folder)
            if self.html is not None:
                paging.write(self.html, [folder], newest=0, price=self.output.price)
        return code
