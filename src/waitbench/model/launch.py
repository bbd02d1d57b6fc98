"""The configuration that the harness writes for launchers, as JSON.

Launchers import this, and no dataclasses: a launcher's start is in the real time of a run. Each
part is tagged with its class.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from waitbench.model import conditions
from waitbench.model.conditions import Answer, Condition, Readiness
from waitbench.model.placeholders import PLACEHOLDER, Site

INDEX, ADDRESSES = "{index}", "{addresses}"
"""A process's number in its cluster, and the addresses of all its processes."""

_CLASS = "="
"""The key of a part's class: no variable and no placeholder has this name."""


class Action(NamedTuple):
    """An action before the window: a phase of a worker file."""

    phase: str
    kind: str
    """Of ``ACTIONS`` in model/worker.py."""
    service: str
    """The service to be stopped or started."""
    command: Sequence[str]
    """The command to be run."""
    message: str
    """Sent before a reset."""
    settled: Readiness
    """When the next action, or the window, begins."""
    may_end: bool
    must_end: bool


class DataflowConfig(NamedTuple):
    """A dataflow: one command line for all of its processes."""

    arguments: Sequence[str]
    processes: int


class WorkerConfig(NamedTuple):
    """A worker of a worker file."""

    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Readiness
    settled: Readiness
    stop: str
    stop_within_s: float
    poke: Sequence[str]
    done: Answer | None
    """When a poke is handled."""
    rate: float
    """Messages a second in the window; 0: one after it."""
    values: Mapping[str, str]
    """Values of parameters."""
    site: Site
    """Its place, without what is a copy's own."""
    files: Sequence[str]
    actions: Sequence[Action]
    goes_to_background: bool
    """Whether the command ends at once: the processes that it leaves are the worker."""
    has_stdin: bool
    """Whether its standard input is a pipe that stays open."""
    window_s: float | None
    """0: the run finds its window; ``None``: it lasts until the worker ends."""
    copies: int


class ServiceConfig(NamedTuple):
    """A service of a worker file."""

    command: Sequence[str]
    ready: Readiness
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
    if name is None:
        return values
    return (globals().get(name) or getattr(conditions, name))(**values)


def filled(part: Any, values: Mapping[str, str]) -> Any:
    """Fills in the placeholders that have values, in all texts of a part, with lists for tuples."""
    if isinstance(part, str):
        return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part)
    if isinstance(part, Mapping):
        return {key: filled(value, values) for key, value in part.items()}
    if hasattr(part, "_asdict"):
        if isinstance(part, Condition) and not part.has_placeholders:
            return part
        return type(part)(**filled(part._asdict(), values))
    return [filled(it, values) for it in part] if isinstance(part, list | tuple) else part
