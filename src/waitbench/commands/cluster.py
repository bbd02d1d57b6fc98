"""``scheduler`` and ``worker``: what makes machines carry out units of comparisons."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.model.errors import UsageError
from waitbench.reporting.console import make_console
from waitbench.system import endings
from waitbench.system.places import Cache

SCHEDULER_EXAMPLES = """
\b
Examples:
  ./waitbench scheduler                         # for workers of this machine
  ./waitbench scheduler --host 10.0.0.1         # whoever reaches it can run anything on the workers
"""
WORKER_EXAMPLES = """
\b
Examples:
  ./waitbench worker tcp://10.0.0.1:8786
  ./waitbench worker tls://10.0.0.1:8786 --name quiet-arm
"""
_UntilStdinEnds = Annotated[bool, typer.Option("--until-stdin-ends", hidden=True)]


def scheduler(
    host: Annotated[
        Optional[str],
        typer.Option(
            metavar="ADDRESS",
            help="Where it listens. Default: everywhere with certificates, else loopback only.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="0: any that is free.")] = 8786,
    until_stdin_ends: _UntilStdinEnds = False,
) -> None:
    """Run a scheduler of dask, by which workers of many machines are found."""
    from waitbench.cluster.dask_host import SchedulerHost

    with endings.noted("Comparisons that were measured end; --resume goes on with them."):
        SchedulerHost(host=host, port=port).serve(_say, until_stdin_ends=until_stdin_ends)


def worker(
    address: Annotated[
        str, typer.Argument(metavar="SCHEDULER", help="tcp://HOST:PORT or tls://HOST:PORT.")
    ],
    cache: Annotated[
        Optional[Path],
        typer.Option(metavar="FOLDER", help="Where environments are kept. Default: .bench."),
    ] = None,
    name: Annotated[
        Optional[str], typer.Option(help="What this machine is called. Default: its host's name.")
    ] = None,
    until_stdin_ends: _UntilStdinEnds = False,
) -> None:
    """Let this machine measure for a scheduler, one scenario at a time, until it is ended."""
    if not address.startswith(("tcp://", "tls://")):
        raise UsageError(f"{address!r} is neither tcp://HOST:PORT nor tls://HOST:PORT.")
    from waitbench.cluster.dask_host import WorkerHost

    place = Cache() if cache is None else Cache(cache.resolve())
    place.root.mkdir(parents=True, exist_ok=True)
    with endings.noted("What was measured here is begun anew on another worker."):
        host = WorkerHost(scheduler=address, name=name, cache=place)
        host.serve(_say, until_stdin_ends=until_stdin_ends)


def _say(what: str) -> None:
    make_console().print(what, soft_wrap=True, highlight=False)
