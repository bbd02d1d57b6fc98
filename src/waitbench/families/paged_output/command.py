"""``paged-output``: messages one by one and in pages, both sides in one sitting."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.system.places import RESULTS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench paged-output
  ./waitbench paged-output --repetitions 3 --largest 100000
"""


def paged_output(
    repetitions: Annotated[
        int,
        typer.Option(metavar="N", help="Runs of each side of each row; medians are shown."),
    ] = 5,
    largest: Annotated[
        Optional[int], typer.Option(metavar="MESSAGES", help="No rows with more messages.")
    ] = None,
    results: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER",
            help="Where the figures go.",
            show_default=f"a new one in {shown(RESULTS)}/",
        ),
    ] = None,
) -> None:
    """Write messages one by one and in pages, side by side.

    The published tables, load shedding, memory, CPU.
    """
    from waitbench.families.paged_output.remake import PagingOptions, remake_tables
    from waitbench.reporting.console import make_console

    options = PagingOptions(repetitions=repetitions, largest=largest)
    raise typer.Exit(remake_tables(options, results, make_console()))
