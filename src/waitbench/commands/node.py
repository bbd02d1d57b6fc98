"""``node``: this machine measures for a scheduler."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.system import endings
from waitbench.system.places import Cache, shown

EXAMPLES = """
\b
Examples:
  ./waitbench node tcp://10.0.0.1:8786
  ./waitbench node tls://10.0.0.1:8786 --name quiet-arm
"""


def node(
    address: Annotated[
        str, typer.Argument(metavar="SCHEDULER", help="tcp://HOST:PORT or tls://HOST:PORT.")
    ],
    cache: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER", help="Where environments are kept.", show_default=shown(Cache().root)
        ),
    ] = None,
    name: Annotated[
        Optional[str],
        typer.Option(
            metavar="NAME", help="What this machine is called.", show_default="its host's name"
        ),
    ] = None,
    until_stdin_ends: options.UntilStdinEnds = False,
) -> None:
    """Let this machine measure for a scheduler, one scenario at a time, until it is ended."""
    if not address.startswith(("tcp://", "tls://")):
        raise UsageError(f"{address!r} is neither tcp://HOST:PORT nor tls://HOST:PORT.")
    from waitbench.cluster.dask_hosts import WorkerHost

    place = Cache() if cache is None else Cache(cache.resolve())
    place.root.mkdir(parents=True, exist_ok=True)
    with endings.noted("What was measured here is begun anew on another node."):
        host = WorkerHost(scheduler=address, name=name, cache=place)
        host.serve(until_stdin_ends=until_stdin_ends)
