"""The configuration that the harness writes for launchers, as JSON.

Standard library only: launchers import this. Each part is tagged with its class.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

_CLASS = "="
"""The key of a part's class: no variable and no placeholder has this name."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition or answer of a worker file: see model/worker.py."""

    log: str | None = None
    port: bool | None = None
    command: Sequence[str] = ()
    seconds: float | None = None
    within: float = 30.0
    exit: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of a worker file: see model/worker.py."""

    name: str
    poke: bool | None = None
    stop: str | None = None
    start: str | None = None
    run: Sequence[str] = ()
    may_end: bool = False
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class DataflowConfig:
    """A dataflow: one command line for all of its processes."""

    arguments: Sequence[str]
    processes: int


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
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


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """A service of a worker file."""

    command: Sequence[str]
    ready: Condition
    stop: str
    port: int
    folder: str
    log: str
    counters: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class RunningService:
    """A service that is up, as its launcher reports it."""

    config: ServiceConfig
    launcher: int
    pid: int
    cpu: str
    up: str
    """Names under which its CPU time and state are read: system/counters.py."""


@dataclass(frozen=True)
class BatchSlot:
    """A run's slot in its batch; without a folder, the run is by itself."""

    folder: str = ""
    number: int = 0
    count: int = 1
    shutdown_turn_s: float = math.inf
    """Time for which a run keeps the turn while it ends."""


ALONE = BatchSlot()


@dataclass(frozen=True, kw_only=True)
class LaunchConfig:
    """One launch."""

    program: DataflowConfig | WorkerConfig | ServiceConfig
    tracepoint: int | None = None
    services: Mapping[str, RunningService] = field(default_factory=dict)
    slot: BatchSlot = ALONE
    modules: Sequence[str] | None = None
    """Files to be looked for in what the run loads: see ``execution.identity``."""
    pokes: bool = True
    """Whether a worker is poked after its window."""


def encode(config: object) -> str:
    return json.dumps(config, default=_tagged)


def decode(text: str) -> Any:
    """Returns the part that ``encode`` was given, with lists for tuples."""
    return json.loads(text, object_hook=_untagged)


def _tagged(part: Any) -> dict[str, object]:
    return {_CLASS: type(part).__name__, **{it.name: getattr(part, it.name) for it in fields(part)}}


def _untagged(values: dict[str, Any]) -> Any:
    name = values.pop(_CLASS, None)
    return values if name is None else globals()[name](**values)
