"""Families ``partitioned`` and ``dynamic``: workers that wait for their input. The core of this project."""

from waitbench.model.scenario import Family, Parameters, Scenario, Topology, Value
from waitbench.system.places import DATAFLOWS


def _per_source(parameters: Parameters) -> int:
    return int(parameters.get("items_per_partition", parameters.get("items_per_worker", 0)))


def _items(parameters: Parameters, topology: Topology) -> int:
    sources = parameters.get("partitions", min(topology.worker_count, 16))
    return int(sources) * _per_source(parameters)


def _lasts_s(parameters: Parameters) -> float:
    number = {name: float(value) for name, value in parameters.items()}
    count = _per_source(parameters)
    waiting = number["idle"] + (count / number["burst"] * number["interval"] if number["long_input"] else 0)
    working = number.get("partitions", 1) * count * number["heaviness"] * 4e-7 * number["heavy_map"]
    return 0.5 + max(waiting, working)


_QUICK = {
    "items_per_partition": "8",
    "items_per_worker": "8",
    "interval": "0.125",
    "heaviness": "20000",
    "idle": "1",
}
"""About 1 s of waiting a run."""

_FAMILIES = {name: Family(name, _items, _lasts_s, quick=_QUICK) for name in ("partitioned", "dynamic")}
_ITEMS_OF: dict[str, tuple[str, str, dict[str, Value]]] = {
    "partitioned": ("items_per_partition", "16 partitions", {"partitions": 16}),
    "dynamic": ("items_per_worker", "a source on each of the first 16 workers", {}),
}
_COMMON: dict[str, Value] = {
    "long_input": False, "heavy_map": False, "scheduled": False, "interval": 0.25, "burst": 1, "idle": 0.0,
    "heaviness": 40_000, "seed": 1,
}  # fmt: skip
_LONG: dict[str, Value] = {"long_input": True}
_KINDS: tuple[tuple[str, int, dict[str, Value], str], ...] = (
    ("", 20, {}, "20 items each, all at once: start-up, polling without waiting, shutdown"),
    ("-long-input", 20, _LONG, "20 items each, one due per 0.25 s: what a worker spends while it waits"),
    ("-heavy-map", 20, {"heavy_map": True}, "20 items each, heavy work on every one: all CPU should be used"),
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
)
_DEFAULT_KINDS = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")

SCENARIOS = tuple(
    Scenario(
        name=family + suffix,
        purpose=f"{who}; {purpose}",
        family=_FAMILIES[family],
        module=DATAFLOWS / f"{family}.py",
        parameters={**_COMMON, **own, items_name: count, **parameters},
        by_default=suffix in _DEFAULT_KINDS,
        needs_next_awake=bool(parameters.get("scheduled")),
    )
    for family, (items_name, who, own) in _ITEMS_OF.items()
    for suffix, count, parameters, purpose in _KINDS
)
