"""Names -> Scenarios: a dataflow with fixed parameters, and what to expect of a run of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from harness.errors import UsageError
from harness.places import DATAFLOWS

Value = int | float | bool | str


@dataclass(frozen=True)
class Topology:
    """How the processes of a run are started."""

    kind: str
    """``single`` (one ``bytewax.run``) or ``launcher`` (bytewax's own ``-p N``)."""
    processes: int = 1
    workers: int = 1
    """Worker threads of each process."""

    @property
    def worker_count(self) -> int:
        return self.processes * self.workers

    def __str__(self) -> str:
        workers = f" × {self.workers} workers" if self.workers > 1 else ""
        return self.kind if self.kind == "single" and not workers else f"{self.kind}, {self.processes} processes{workers}"


TOPOLOGY_KINDS = ("single", "launcher")


@dataclass(frozen=True)
class Scenario:
    """One dataflow with fixed parameters."""

    name: str
    family: str
    purpose: str
    parameters: Mapping[str, Value] = field(default_factory=dict)

    @property
    def import_string(self) -> str:
        """What bytewax is given to run, such as ``…/partitioned.py:get_flow(long_input=True)``."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.module}:get_flow({arguments})"

    @property
    def module(self) -> Path:
        return DATAFLOWS / f"{self.family}.py"

    def expected_items(self, topology: Topology) -> int:
        """How many items must come out of a run."""
        if self.family == "dynamic":
            return int(self.parameters["items_per_worker"]) * min(topology.worker_count, 16)
        return int(self.parameters["partitions"]) * int(self.parameters["items_per_partition"])

    @property
    def expected_s(self) -> float:
        """Roughly how long a run takes, for the time left and the time limit; never a measurement."""
        per_source = int(self.parameters.get("items_per_partition", self.parameters.get("items_per_worker", 0)))
        waiting = per_source * float(self.parameters["interval"]) if self.parameters["long_input"] else 0.0
        sources = int(self.parameters.get("partitions", 1))
        heavy = sources * per_source * int(self.parameters["heaviness"]) * 4e-7 if self.parameters["heavy_map"] else 0.0
        return 0.5 + max(waiting, heavy)

    @property
    def time_limit_s(self) -> float:
        """After this a run counts as hung."""
        return 30 + 5 * self.expected_s


_FAMILIES: dict[str, tuple[str, dict[str, Value]]] = {
    "partitioned": ("16 partitions of 20 items", {"partitions": 16, "items_per_partition": 20}),
    "dynamic": ("20 items for each of the first 16 workers", {"items_per_worker": 20}),
}
_KINDS: dict[str, tuple[str, dict[str, Value]]] = {
    "": ("all at once: start-up, polling without waiting, shutdown", {}),
    "-long-input": ("one due each 0.25 s: what a worker spends while it waits", {"long_input": True}),
    "-heavy-map": ("heavy work on each: all CPU should be used", {"heavy_map": True}),
    "-long-input-heavy-map": (
        "one due each 0.25 s, heavy work on each: waiting and working mixed",
        {"long_input": True, "heavy_map": True},
    ),
}
_COMMON: dict[str, Value] = {"long_input": False, "heavy_map": False, "interval": 0.25, "heaviness": 40_000, "seed": 1}

ALL = tuple(
    Scenario(family + suffix, family, f"{what}, {purpose}", {**_COMMON, **own, **parameters})
    for family, (what, own) in _FAMILIES.items()
    for suffix, (purpose, parameters) in _KINDS.items()
)


def select(patterns: Sequence[str], settings: Sequence[str]) -> tuple[Scenario, ...]:
    """The scenarios that any of the globs match (all without one), with ``NAME=VALUE`` settings applied.

    Raises ``UsageError`` for a glob that matches none, and for a setting that no selected scenario has.
    """
    for pattern in patterns:
        if not any(fnmatchcase(scenario.name, pattern) for scenario in ALL):
            names = ", ".join(scenario.name for scenario in ALL)
            raise UsageError(f"--scenario {pattern!r} matches none of: {names}.")
    chosen = [s for s in ALL if not patterns or any(fnmatchcase(s.name, pattern) for pattern in patterns)]
    used: set[str] = set()
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r} is not NAME=VALUE, such as --set interval=0.1")
        for position, scenario in enumerate(chosen):
            if name in scenario.parameters:
                used.add(name)
                value = _parse(name, text, scenario.parameters[name])
                chosen[position] = replace(scenario, parameters={**scenario.parameters, name: value})
        if name not in used:
            known = sorted({parameter for scenario in chosen for parameter in scenario.parameters})
            raise UsageError(f"--set {name}: no selected scenario has it. They have: {', '.join(known)}.")
    return tuple(chosen)


def _parse(name: str, text: str, default: Value) -> Value:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        value = type(default)(text)
    except (ValueError, KeyError) as error:
        raise UsageError(f"--set {name}={text}: not a {type(default).__name__}, such as {default!r}.") from error
    if isinstance(value, (int, float)) and not 0 < value < 1e9:
        raise UsageError(f"--set {name}={text}: must be above zero and below 10⁹.")
    return value
