"""``load``: many clients at once on an embedding service, with and without a proxy."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.system.places import RESULTS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench load
  ./waitbench load --mode direct --mode proxy-adaptive --call-cost 40 --rounds 3
  ./waitbench load --url http://127.0.0.1:8080       # a text-embeddings-inference of yours
"""


def load(
    mode: Annotated[
        list[str],
        typer.Option(
            metavar="MODE",
            help="direct, proxy-fixed, proxy-fixed-1 or proxy-adaptive; repeatable.",
            show_default="all, one after the other",
        ),
    ] = [],
    connections: Annotated[
        int, typer.Option("--connections", "-c", metavar="N", help="Clients at once.")
    ] = 200,
    duration: Annotated[
        float,
        typer.Option("--duration", "-z", metavar="SECONDS", help="How long each load lasts."),
    ] = 30,
    inputs: Annotated[int, typer.Option(metavar="N", help="Texts in each request.")] = 2,
    call_cost: Annotated[
        float,
        typer.Option(
            metavar="MILLISECONDS", help="A fixed part of the cost of each call to our embedder."
        ),
    ] = 0,
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Loads of each mode, one mode after the other.\n\n"
            "Figures are medians of the rounds.",
        ),
    ] = 1,
    url: Annotated[
        Optional[str],
        typer.Option(metavar="URL", help="Any text-embeddings-inference, instead of our embedder."),
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
    """Put a load of clients on an embedding service, directly and through a proxy that batches.

    With oha on PATH it makes the load; else a small client of ours, which also checks a sample of
    the answers.
    """
    from waitbench.families.embedding.load import LoadOptions, put_load
    from waitbench.reporting.console import make_console

    options = LoadOptions(
        modes=tuple(mode),
        connections=connections,
        duration_s=duration,
        inputs=inputs,
        call_cost_ms=call_cost,
        rounds=rounds,
        url=url,
    )
    raise typer.Exit(put_load(options, results, make_console()))
