"""Families ``partitioned`` and ``dynamic``: workers that wait for their input.

The core of this project.
"""

from __future__ import annotations

from math import ceil

from waitbench.model.scenario import (
    ALARM,
    NEXT_AWAKE,
    WINDOW,
    Family,
    Parameters,
    Scenario,
    Topology,
    Value,
)
from waitbench.system.places import DATAFLOWS

_PER_PARTITION = "items_per_partition"
_PER_WORKER = "items_per_worker"


def _in_each_reading_worker(parameters: Parameters, topology: Topology) -> int:
    return int(parameters[_PER_WORKER]) * topology.reading_workers


def _too_many_silent(parameters: Parameters) -> str | None:
    """Why some partitions cannot be silent; ``None`` where they can."""
    silent, partitions = parameters.get("silent", 0), parameters["partitions"]
    if int(silent) <= int(partitions):
        return None
    return f"{silent} of {partitions} partitions cannot be silent"


def _in_all_partitions(parameters: Parameters, _topology: Topology) -> int:
    having_items = int(parameters["partitions"]) - int(parameters.get("silent", 0))
    return having_items * int(parameters[_PER_PARTITION])


def _lasts_s(sources: int, items_each: int, parameters: Parameters) -> float:
    """The time of the input's schedule, or of the work on all items, whichever is longer."""
    waiting_s = float(parameters["idle"])
    if parameters["long_input"]:
        waiting_s += items_each / float(parameters["burst"]) * float(parameters["interval"])
    working_s = 0.0
    if parameters["heavy_map"]:
        working_s = sources * items_each * float(parameters["heaviness"]) * 4e-7
    return 0.5 + max(waiting_s, working_s)


_NEEDS = {"scheduled": NEXT_AWAKE, "window": WINDOW, "alarm": ALARM}
"""What a revision must be able to do, by the parameter that asks for it."""


def _needs(parameters: Parameters) -> frozenset[str]:
    return frozenset(need for parameter, need in _NEEDS.items() if parameters.get(parameter))


def _lengthened(parameters: Parameters, seconds: float) -> Parameters:
    idle_s = float(parameters["idle"])
    if idle_s:
        return {**parameters, "idle": max(idle_s, seconds)}
    if not parameters["long_input"]:
        return parameters
    count = next(name for name in (_PER_PARTITION, _PER_WORKER) if name in parameters)
    rate = float(parameters["burst"]) / float(parameters["interval"])
    return {**parameters, count: max(int(parameters[count]), ceil(seconds * rate))}


def _waits(parameters: Parameters) -> bool:
    return bool(parameters["long_input"] or parameters["idle"])


def _works(parameters: Parameters) -> bool:
    return bool(parameters["heavy_map"])


_QUICK = {
    _PER_PARTITION: "8",
    _PER_WORKER: "8",
    "interval": "0.125",
    "heaviness": "20000",
    "idle": "1",
}
"""About 1 s of waiting a run."""
_QUICKER = "4"
"""Items of those that only wait: 0.5 s.

Steady CPU varies no more from run to run than in runs of 1 s: what disturbs a run comes in
episodes, and hits fewer of the shorter ones. So as many seconds of them settle more.
"""

_PARTITIONED = Family(
    name="partitioned",
    items=_in_all_partitions,
    lasts_s=lambda p: _lasts_s(int(p["partitions"]), int(p[_PER_PARTITION]), p),
    waits=_waits,
    works=_works,
    needs=_needs,
    why_senseless=_too_many_silent,
    quick=_QUICK,
    lengthened=_lengthened,
)
_DYNAMIC = Family(
    name="dynamic",
    items=_in_each_reading_worker,
    # Workers read and work side by side.
    lasts_s=lambda p: _lasts_s(1, int(p[_PER_WORKER]), p),
    waits=_waits,
    works=_works,
    needs=_needs,
    quick=_QUICK,
    lengthened=_lengthened,
)
_SOURCES: tuple[tuple[Family, str, str, dict[str, Value]], ...] = (
    (_PARTITIONED, _PER_PARTITION, "16 partitions", {"partitions": 16}),
    (_DYNAMIC, _PER_WORKER, "a source on each of the first 16 workers", {}),
)
"""Family, the parameter that counts a source's items, what its sources are, own parameters."""

_COMMON: dict[str, Value] = {
    "long_input": False, "heavy_map": False, "scheduled": False, "interval": 0.25, "burst": 1,
    "idle": 0.0, "heaviness": 40_000, "seed": 1,
}  # fmt: skip
_LONG: dict[str, Value] = {"long_input": True}
_SOME: dict[str, Value] = {**_LONG, "interval": 0.125, "idle": 4.0}
_KINDS: tuple[tuple[str, int, dict[str, Value], str], ...] = (
    ("", 20, {}, "20 items each, all at once: start-up, polling without waiting, shutdown"),
    (
        "-long-input",
        20,
        _LONG,
        "20 items each, one due per 0.25 s: what a worker spends while it waits",
    ),
    (
        "-heavy-map",
        20,
        {"heavy_map": True},
        "20 items each, heavy work on every one: all CPU should be used",
    ),
    (
        "-long-input-heavy-map",
        20,
        {**_LONG, "heavy_map": True},
        "one item due per 0.25 s and heavy work: waiting and working",
    ),
    (
        "-scheduled",
        20,
        {**_LONG, "scheduled": True},
        "as long-input, but the source says when to be asked next (from 0.17)",
    ),
    ("-idle", 0, {"idle": 5.0}, "no item at all for 5 s: the cost of an idle second"),
    (
        "-burst",
        40,
        {**_LONG, "interval": 1.25, "burst": 10},
        "10 items at once after 1.25 s of silence: latency after parking",
    ),
    (
        "-windowed",
        8,
        {**_SOME, "window": 3600.0},
        "8 items each within 1 s, then 4 s of silence while a window of an hour holds them",
    ),
    (
        "-notify",
        8,
        {**_SOME, "alarm": 3600.0},
        "8 items each within 1 s, then 4 s of silence while a step asks to be woken in an hour",
    ),
    (
        "-ended",
        20,
        {"silent": 1, "idle": 5.0},
        "all but one have ended after 20 items each; that one is silent for 5 s",
    ),
)
"""End of the name, items of each source, what differs from the common parameters, purpose."""
_COARSE: tuple[tuple[str, Topology, dict[str, Value], str], ...] = (
    (
        "-silence",
        Topology("cluster", 2),
        {**_LONG, "interval": 0.125, "partitions": 1, _PER_PARTITION: 4, "idle": 6.0},
        "4 items within 0.5 s, then 6 s of silence, read by one of two processes: what begins "
        "late, and what an idle peer costs",
    ),
    (
        "-launcher",
        Topology("launcher", 2),
        {**_LONG, "interval": 0.125, _PER_PARTITION: 4},
        "4 items each within 0.5 s, two processes by the engine's own launcher: what that costs",
    ),
)
"""End of the name, how its processes are started, what differs from the common parameters,
purpose: what the gate asks for large rises only."""
_DEFAULT_KINDS = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")

SCENARIOS = tuple(
    Scenario(
        name=family.name + suffix,
        purpose=f"{sources}; {purpose}",
        family=family,
        module=DATAFLOWS / f"{family.name}.py",
        parameters={**_COMMON, **own, counted_by: count, **parameters},
        by_default=suffix in _DEFAULT_KINDS,
        quick={
            "-long-input": {counted_by: _QUICKER},
            "-scheduled": {counted_by: _QUICKER},
            # A single burst, after its silence.
            "-burst": {counted_by: "10", "interval": "1.25"},
        }.get(suffix, {}),
    )
    for family, counted_by, sources, own in _SOURCES
    for suffix, count, parameters, purpose in _KINDS
    # Only partitions end one by one: a worker that reads has its source to the end.
    if "silent" not in parameters or "partitions" in own
) + tuple(
    Scenario(
        name=_PARTITIONED.name + suffix,
        purpose=purpose,
        family=_PARTITIONED,
        module=DATAFLOWS / f"{_PARTITIONED.name}.py",
        parameters={**_COMMON, "partitions": 16, **parameters},
        by_default=False,
        coarse=True,
        topology=topology,
    )
    for suffix, topology, parameters, purpose in _COARSE
)
