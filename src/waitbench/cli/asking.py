"""The options that say what to measure: every command that measures has them."""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from waitbench.cli import options
from waitbench.cli.request import Request
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import masked

_REPLACED = "request"
_SELDOM = ("time_limit", "toolchain", "setup_limit", "pass_env")
"""Those that stand at the end."""


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command these options: in the place of its parameter ``request``, or at the end.

    What it is called with names no revision yet.
    """
    own, asked = inspect.signature(command), inspect.signature(_request)

    @wraps(command)
    def called(**given: Any) -> None:
        request = _request(**{name: given.pop(name) for name in asked.parameters})
        command(request=request, **given)

    def parameters() -> Iterator[inspect.Parameter]:
        often = [one for name, one in asked.parameters.items() if name not in _SELDOM]
        for name, parameter in own.parameters.items():
            yield from often if name == _REPLACED else (parameter,)
        yield from (asked.parameters[name] for name in _SELDOM)

    # What typer reads: all of them by name, in this order.
    found = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters()]
    called.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in found}
    return called


def _request(
    scenario: options.Scenarios = [],
    settings: options.Settings = [],
    processes: options.Processes = 1,
    workers: options.Workers = 1,
    topology: options.TopologyKind = None,
    python: options.Python = None,
    repo: options.Repo = None,
    time_limit: options.TimeLimit = None,
    toolchain: options.Toolchain = None,
    setup_limit: options.SetupLimit = None,
    pass_env: options.PassedVariables = [],
) -> Request:
    return Request(
        revisions=(),
        scenarios=tuple(scenario),
        settings=tuple(settings),
        topology=topology,
        processes=processes,
        workers=workers,
        origin=OriginChoice.AUTO,
        python=python,
        repo=repo,
        time_limit_s=time_limit,
        toolchain=toolchain,
        setup_limit_s=setup_limit,
        passed_variables=tuple(pass_env),
        argv=tuple(map(masked, sys.argv[1:])),
    )
