"""The configuration of a launcher, which starts, counts and ends the processes of a run.

A launcher gets it as JSON, in which each named tuple is an object with the name of its class.
These classes are not dataclasses, because importing those would lengthen every run.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from waitbench.model import conditions
from waitbench.model.conditions import Answer, Condition, Readiness

INDEX, ADDRESSES = "{index}", "{addresses}"
"""Placeholders of the number of a process in its cluster, and of the addresses of all processes."""
PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""``{port}`` or ``{redis.port}``; other braces stay as they are."""

_CLASS = "="
"""The key of a class's name in JSON. No environment variable or placeholder has this name."""


class Site(NamedTuple):
    """The values of placeholders for one copy of a worker, or for a service."""

    here: str = ""
    """The folder of the worker file."""
    python: str = ""
    """The path of the interpreter."""
    prefix: str = ""
    """The folder into which the revision was built."""
    revision: str = ""
    """A release, commit, variant or program."""
    folder: str = ""
    """The working folder."""
    port: int = 0
    metrics: str = ""
    """The file that a copy writes its metrics to."""

    def values(self) -> dict[str, str]:
        return {name: str(value) for name, value in self._asdict().items()}


class Action(NamedTuple):
    """An action before the window: a phase of a worker file."""

    phase: str
    kind: str
    """One of ``ACTIONS`` in model/worker.py."""
    service: str
    """The service to stop or start."""
    command: Sequence[str]
    """The command to run."""
    message: str
    """The text that a client sends before it resets its connection."""
    settled: Readiness
    """The condition after which the next action, or the window, begins."""
    may_end: bool
    must_end: bool


class DataflowConfig(NamedTuple):
    """A dataflow, of which all processes have the same command line."""

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
    """The condition that a poke was handled."""
    rate: float
    """Messages a second in the window; 0: a single message after it."""
    values: Mapping[str, str]
    """Values of parameters, by name."""
    site: Site
    """Values of placeholders; each copy sets its own ``folder``, ``port`` and ``metrics``."""
    files: Sequence[str]
    actions: Sequence[Action]
    goes_to_background: bool
    """Whether the command ends early, and the processes that it started are the worker."""
    has_stdin: bool
    """Whether its standard input is a pipe that stays open."""
    window_s: float | None
    """``None``: the window lasts until the worker ends."""
    copies: int
    """How often the command is started at once (``--processes``), each time in its own folder."""


class ServiceConfig(NamedTuple):
    """A service of a worker file."""

    command: Sequence[str]
    ready: Readiness
    stop: str
    port: int
    folder: str
    log: str
    counters: Sequence[str]
    address: str = ""
    """The socket on which the launcher of a running service receives orders."""
    memory: int = 0
    """What a running service used when it became ready, in bytes; 0 if unknown."""


class BatchSlot(NamedTuple):
    """The place of a run in a batch of concurrent runs."""

    folder: str = ""
    """The folder through which the runs of a batch wait for each other; empty: no batch."""
    number: int = 0
    size: int = 1
    lanes: int = 1
    """How many runs of a batch start, or end, at the same time."""
    startup_turn_s: float = math.inf
    shutdown_turn_s: float = math.inf
    """The longest times for which the other runs wait while this run starts, and while it ends."""


class LaunchConfig(NamedTuple):
    """The configuration of a launcher."""

    program: DataflowConfig | WorkerConfig | ServiceConfig
    tracepoint: int | None = None
    """The kernel's number of the counter of system calls; ``None``: they are not counted."""
    services: Mapping[str, ServiceConfig] = {}
    slot: BatchSlot = BatchSlot()
    modules: Sequence[str] | None = None
    """Files of which the run reports whether it loads them: see ``execution.identity``."""
    pokes: bool = True
    """Whether a worker is poked after its window."""


def encode(config: object) -> str:
    return json.dumps(_tagged(config))


def decode(text: str) -> Any:
    """Restores the argument of ``encode``, but with lists for its plain tuples."""
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
    """Fills in placeholders that have values, in all texts of a configuration or a part of it."""
    if isinstance(part, str):
        return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part)
    if isinstance(part, Mapping):
        return {key: filled(value, values) for key, value in part.items()}
    if hasattr(part, "_asdict"):
        if isinstance(part, Condition) and not part.has_placeholders:
            return part
        return type(part)(**filled(part._asdict(), values))
    return [filled(item, values) for item in part] if isinstance(part, list | tuple) else part
