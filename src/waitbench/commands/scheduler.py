"""``scheduler``: by which the machines that measure are found."""

from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.system import endings

EXAMPLES = """
\b
Examples:
  ./waitbench scheduler                         # for nodes of this machine
  ./waitbench scheduler --host 10.0.0.1         # whoever reaches it can run anything on the nodes
"""


def scheduler(
    host: Annotated[
        Optional[str],
        typer.Option(
            metavar="ADDRESS",
            help="Where it listens.",
            show_default="everywhere with certificates, else loopback",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", help="Where it listens, too; 0 for any that is free.")
    ] = 8786,
    until_stdin_ends: options.UntilStdinEnds = False,
) -> None:
    """Run a scheduler of dask, by which nodes, the machines that measure, are found."""
    from waitbench.cluster.dask_hosts import SchedulerHost

    with endings.noted("Comparisons that were measured end; --resume goes on with them."):
        SchedulerHost(host=host, port=port).serve(until_stdin_ends=until_stdin_ends)
