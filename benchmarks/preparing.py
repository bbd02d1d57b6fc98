"""What benchmarks that measure by themselves prepare: the environments of some revisions."""

import sys
from collections.abc import Sequence

from waitbench.cli.preparation import Prepared, prepare
from waitbench.cli.request import Request, validate
from waitbench.model.environment import OriginChoice
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import PreparationLog


def ready(
    revisions: Sequence[str],
    processes: int,
    *scenarios: str,
    settings: Sequence[str] = (),
    topology: str | None = None,
    quick: bool = True,
    instrumented: bool = True,
) -> Prepared:
    """Everything that measuring some revisions takes; the default scenarios if none is named."""
    request = Request(
        revisions=tuple(revisions),
        scenarios=scenarios,
        settings=tuple(settings),
        topology=topology,
        processes=processes,
        workers=1,
        origin=OriginChoice.AUTO,
        python=None,
        repo=None,
        time_limit_s=None,
        instrumented=instrumented,
        argv=tuple(sys.argv[1:]),
    )
    console = make_console()
    say = PreparationLog(console, quiet=True)
    return prepare(validate(request, say, quick=quick), console, say)
