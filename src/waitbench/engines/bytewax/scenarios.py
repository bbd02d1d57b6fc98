"""Scenarios of bytewax: two dataflows with their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import force_setattr

from waitbench.model.scenario import ALARM, NEXT_AWAKE, Parameters, Scenario, Topology, Value
from waitbench.system.paths import DATAFLOWS

_NEEDS = {"scheduled": NEXT_AWAKE, "alarm": ALARM}
_MOST_READING_WORKERS = 16
"""Further workers have no source, so that the work does not grow with the number of workers."""
_QUICK: Parameters = {
    "items_per_partition": 8,
    "items_per_worker": 8,
    "interval": 0.125,
    "heaviness": 20_000,
    "idle": 1.0,
}
"""Parameters in gates: about 1 s of waiting per run."""


class Dataflow(Scenario, frozen=True, kw_only=True):
    """A dataflow of dataflows/ with parameters."""

    module: Path
    purpose: str
    by_default: bool = False
    counted_by: str
    """The name of the parameter with the number of items of each source."""
    quick: Parameters = field(default_factory=dict)
    """Parameters in gates that override ``_QUICK``."""

    def __post_init__(self) -> None:
        waits = self.parameters["long_input"] or self.parameters["idle"]
        force_setattr(self, "waits", bool(waits))
        force_setattr(self, "works", bool(self.parameters["heavy_map"]))

    @property
    def settable(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    @property
    def import_string(self) -> str:
        """The engine's argument, such as ``…/flow.py:get_flow(seed=1)``."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.module}:get_flow({arguments})"

    @property
    def is_mostly_idle(self) -> bool:
        if self.large_changes_only:
            return bool(self.parameters["idle"])
        return self.waits and not self.works

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(need for name, need in _NEEDS.items() if self.parameters.get(name))

    @property
    def expected_s(self) -> float:
        """The time of the input's schedule, or of the work on its items, whichever is longer."""
        waiting_s, working_s = self._number("idle"), 0.0
        items = self._number(self.counted_by)
        if self.parameters["long_input"]:
            waiting_s += items / self._number("burst") * self._number("interval")
        if self.works:
            sources = float(self.parameters.get("partitions", 1))
            working_s = sources * items * self._number("heaviness") * 4e-7  # s for each unit
        return 0.5 + max(waiting_s, working_s)

    def expected_items(self, topology: Topology) -> int:
        started = self.topology_in(topology)
        sources = min(started.processes * started.workers, _MOST_READING_WORKERS)
        if "partitions" in self.parameters:
            silent = int(self.parameters.get("silent", 0))
            sources = max(0, int(self.parameters["partitions"]) - silent)
        return sources * int(self.parameters[self.counted_by])

    def shortened(self) -> Scenario:
        if self.large_changes_only:
            return self
        # A parameter that is absent or 0 stays so.
        quick = {k: v for k, v in {**_QUICK, **self.quick}.items() if self.parameters.get(k)}
        return self.with_parameters(quick)

    def with_least_window(self, seconds: float) -> Scenario:
        longer: Mapping[str, Value] = {}
        if self.parameters["idle"]:
            longer = {"idle": max(self._number("idle"), seconds)}
        elif self.parameters["long_input"]:
            items = ceil(seconds * self._number("burst") / self._number("interval"))
            longer = {self.counted_by: max(int(self.parameters[self.counted_by]), items)}
        return self.with_parameters(longer)

    def _number(self, name: str) -> float:
        return float(self.parameters[name])


_SOURCES: tuple[tuple[str, str, str, dict[str, Value]], ...] = (
    ("partitioned", "items_per_partition", "16 partitions", {"partitions": 16}),
    ("dynamic", "items_per_worker", "a source on each of the first 16 workers", {}),
)
"""Dataflow, parameter with the number of items, purpose, further parameters."""

_COMMON: dict[str, Value] = {
    "long_input": False, "heavy_map": False, "scheduled": False, "interval": 0.25, "burst": 1,
    "idle": 0.0, "heaviness": 40_000, "seed": 1,
}  # fmt: skip
_LONG: dict[str, Value] = {"long_input": True}
_LONG_THEN_IDLE: dict[str, Value] = {**_LONG, "interval": 0.125, "idle": 4.0}
_WAITING: Parameters = {"items_per_partition": 4, "items_per_worker": 4}
"""In gates 0.5 s of waiting, instead of 1 s.

Idle CPU varies no more between runs of 0.5 s than between runs of 1 s, since disturbances come in
episodes, which hit fewer short runs. So twice as many runs in the same time decide more.
"""


class _Kind(Struct, frozen=True):
    """A scenario of each dataflow."""

    suffix: str
    """The end of its name."""
    items: int
    """The number of items of each source."""
    parameters: Parameters
    purpose: str
    quick: Parameters = {}
    """Parameters in gates that override ``_QUICK``. A dataflow ignores unknown names."""


_KINDS = (
    _Kind("", 20, {}, "20 items each, all at once: start-up, polling without waiting, shutdown"),
    _Kind("-long-input", 20, _LONG,
          "20 items each, one due per 0.25 s: the cost of waiting", _WAITING),
    _Kind("-heavy-map", 20, {"heavy_map": True},
          "20 items each, heavy work on each: all CPU should be used",
          # Many small items, so that a pause after each of them shows.
          {"items_per_worker": 80, "heaviness": 10_000}),
    _Kind("-long-input-heavy-map", 20, {**_LONG, "heavy_map": True},
          "one item due per 0.25 s and heavy work: waiting and working", _WAITING),
    _Kind("-scheduled", 20, {**_LONG, "scheduled": True},
          "as long-input, but the source says when to be asked next (from 0.17)", _WAITING),
    _Kind("-idle", 0, {"idle": 5.0}, "no item at all for 5 s: the cost of an idle second"),
    _Kind("-burst", 40, {**_LONG, "interval": 1.25, "burst": 10},
          "10 items at once after 1.25 s of silence: how late items are after a sleep",
          # A single burst, after its silence.
          {"items_per_partition": 10, "items_per_worker": 10, "interval": 1.25}),
    _Kind("-windowed", 8, {**_LONG_THEN_IDLE, "window": 3600.0},
          "8 items each within 1 s, then 4 s of silence while a window of an hour holds them"),
    _Kind("-notify", 8, {**_LONG_THEN_IDLE, "alarm": 3600.0},
          "8 items each within 1 s, then 4 s of silence while a step asks to be woken in an hour"),
    _Kind("-ended", 20, {"silent": 1, "idle": 5.0},
          "all but one have ended after 20 items each; that one is silent for 5 s"),
)  # fmt: skip
_LARGE_CHANGES: tuple[tuple[str, Topology, Parameters, str], ...] = (
    ("-silence", Topology("cluster", 2), {"partitions": 1, "idle": 6.0},
     "4 items within 0.5 s, then 6 s of silence, read by one of two processes: costs that begin "
     "late, and costs of an idle peer"),
    ("-launcher", Topology("launcher", 2), {},
     "4 items each within 0.5 s, two processes by the engine's own launcher: its costs"),
)  # fmt: skip
"""Suffix, topology, parameters and purpose, where the gate asks for large rises only."""
_DEFAULT_KINDS = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")

SCENARIOS: tuple[Dataflow, ...] = tuple(
    Dataflow(
        name=dataflow + kind.suffix,
        purpose=f"{sources}; {kind.purpose}",
        module=DATAFLOWS / f"{dataflow}.py",
        counted_by=counted_by,
        parameters={**_COMMON, **further, counted_by: kind.items, **kind.parameters},
        by_default=kind.suffix in _DEFAULT_KINDS,
        quick=kind.quick,
    )
    for dataflow, counted_by, sources, further in _SOURCES
    for kind in _KINDS
    # Only partitions end one by one.
    if "silent" not in kind.parameters or "partitions" in further
) + tuple(
    Dataflow(
        name=f"partitioned{kind}",
        purpose=purpose,
        module=DATAFLOWS / "partitioned.py",
        counted_by="items_per_partition",
        parameters={
            **_COMMON, **_LONG, "interval": 0.125, "partitions": 16, "items_per_partition": 4,
            **parameters,
        },
        by_default=False,
        large_changes_only=True,
        topology=topology,
    )
    for kind, topology, parameters, purpose in _LARGE_CHANGES
)  # fmt: skip
