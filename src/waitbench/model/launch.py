"""The configuration that the harness writes for launchers, as JSON.

Launchers import this, and no dataclasses: a launcher's start is in the real time of a run. Each
part is tagged with its class.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""``{port}`` or ``{redis.port}``; other braces stay as they are."""
INDEX, ADDRESSES = "{index}", "{addresses}"
"""A process's number in its cluster, and the addresses of all its processes."""

_CLASS = "="
"""The key of a part's class: no variable and no placeholder has this name."""


class Condition(NamedTuple):
    """A condition or answer of a worker file: see model/worker.py."""

    log: str | None = None
    port: bool | None = None
    command: Sequence[str] = ()
    seconds: float | None = None
    within: float = 30.0
    exit: bool | None = None


class Phase(NamedTuple):
    """A phase of a worker file: see model/worker.py."""

    name: str
    poke: bool | None = None
    stop: str | None = None
    start: str | None = None
    run: Sequence[str] = ()
    may_end: bool = False
    seconds: float | None = None


class DataflowConfig(NamedTuple):
    """A dataflow: one command line for all of its processes."""

    arguments: Sequence[str]
    processes: int


class WorkerConfig(NamedTuple):
    """A worker of a worker file."""

    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Condition
    settled: Condition
    stop: str
    stop_within_s: float
    poke: Sequence[str]
    done: Condition | None
    """When a poke is handled."""
    values: Mapping[str, str]
    """Values of placeholders that all texts may have."""
    files: Sequence[str]
    phases: Sequence[Phase]
    window_s: float | None
    """0: the run finds its window; ``None``: it lasts until the worker ends."""
    copies: int


class ServiceConfig(NamedTuple):
    """A service of a worker file."""

    command: Sequence[str]
    ready: Condition
    stop: str
    port: int
    folder: str
    log: str
    counters: Sequence[str]


class RunningService(NamedTuple):
    """A service that is up, as its launcher reports it."""

    config: ServiceConfig
    pid: int
    address: str
    """The socket at which its launcher takes orders: execution/service_launch.py."""


class BatchSlot(NamedTuple):
    """A run's slot in its batch; without a folder, the run is by itself."""

    folder: str = ""
    number: int = 0
    size: int = 1
    shutdown_turn_s: float = math.inf
    """Time for which a run keeps the turn while it ends."""


ALONE = BatchSlot()


class LaunchConfig(NamedTuple):
    """One launch."""

    program: DataflowConfig | WorkerConfig | ServiceConfig
    tracepoint: int | None = None
    services: Mapping[str, RunningService] = {}
    slot: BatchSlot = ALONE
    modules: Sequence[str] | None = None
    """Files to be looked for in what the run loads: see ``execution.identity``."""
    pokes: bool = True
    """Whether a worker is poked after its window."""


def encode(config: object) -> str:
    return json.dumps(_tagged(config))


def decode(text: str) -> Any:
    """Returns the part that ``encode`` was given, with lists for tuples."""
    return json.loads(text, object_hook=_untagged)


def _tagged(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {key: _tagged(value) for key, value in part.items()}
    if hasattr(part, "_asdict"):
        return {_CLASS: type(part).__name__, **_tagged(part._asdict())}
    return [*map(_tagged, part)] if isinstance(part, list | tuple) else part


def _untagged(values: dict[str, Any]) -> Any:
    name = values.pop(_CLASS, None)
    return values if name is None else globals()[name](**values)


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Fills in the placeholders that have values."""
    return [PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words]
