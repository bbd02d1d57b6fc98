"""``worker``: what ``node`` was called before."""

from typing import Annotated, Optional

import typer

from waitbench.model.errors import UsageError
from waitbench.system.installation import called

CONTEXT_SETTINGS = {"ignore_unknown_options": True, "help_option_names": []}


def worker(_arguments: Annotated[Optional[list[str]], typer.Argument()] = None) -> None:
    """Says what the command of this name is called now."""
    raise UsageError(
        f"worker is called node now: {called('node')} SCHEDULER. A worker of yours is measured by "
        f"{called('compare')} --worker FILE.toml, and the examples by {called('workers')}."
    )
