"""What is under test: bytewax, or what a worker file describes.

All else asks an engine through ``base.Engine``.
"""

from waitbench.engines import bytewax
from waitbench.engines.base import Engine
from waitbench.engines.bytewax.of_users import users_dataflow
from waitbench.engines.bytewax.scenarios import SCENARIOS
from waitbench.engines.worker.metrics import UNTIL_EXIT, WAITING
from waitbench.model import metrics
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Metric
from waitbench.system import files

__all__ = ["DEFAULT", "METRICS", "SCENARIOS", "users_dataflow"]

DEFAULT: Engine = bytewax.ENGINE
"""Whose revisions are named without a prefix, where there is no worker file."""
METRICS: tuple[Metric, ...] = tuple(dict.fromkeys((*metrics.METRICS, *WAITING, *UNTIL_EXIT)))
"""Everything that a run may give, but for what one worker file alone declares."""

_known: dict[str, Engine] = {DEFAULT.name: DEFAULT}
_assumed = [DEFAULT.name]
"""The engine whose revisions are named without a prefix in this process."""


def register(engine: Engine) -> None:
    """Adds an engine; its revisions are named ``NAME@REVISION``."""
    _known[engine.name] = engine


def assume(engine: Engine) -> None:
    """Adds an engine whose revisions are named without a prefix from now on, in this process.

    Raises ``UsageError`` where it has the name of another kind of engine.
    """
    if type(_known.get(engine.name, engine)) is not type(engine):
        raise UsageError(f"{engine.name} is an engine's name: call the worker file otherwise.")
    register(engine)
    _assumed[0] = engine.name


def assumed() -> Engine:
    """The engine whose revisions are named without a prefix."""
    return _known[_assumed[0]]


def named(name: str) -> Engine:
    """The engine of that name. Raises ``KeyError``."""
    return _known[name]


def split(text: str) -> tuple[Engine, str]:
    """Splits ``NAME@REVISION``; the assumed engine needs no name. Raises ``UsageError``.

    A worker file's scenarios are for no other engine than its own.
    """
    name, at, revision = text.partition("@")
    if not at or files.is_there(text):
        return assumed(), text
    there = _known if assumed() is DEFAULT else {_assumed[0]: assumed()}
    if name not in there:
        raise UsageError(f"{text!r}: there is no engine {name!r}. There are: {', '.join(there)}.")
    return there[name], revision


def prefix_of(engine: Engine) -> str:
    """What stands before the names of an engine's revisions; nothing for the assumed one."""
    return "" if engine.name == _assumed[0] else f"{engine.name}@"
