"""Family ``embedding``: workers that wait for a service, directly or behind a proxy that batches."""

from collections.abc import Mapping

from waitbench.model.scenario import Family, Parameters, Samples, Scenario, ServicePlan, Topology, Value
from waitbench.system.places import DATAFLOWS

_ITEMS = "items_per_worker"

MODES: Mapping[str, Mapping[str, str] | None] = {
    "direct": None,
    "proxy-fixed": {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "1000"},
    "proxy-fixed-1": {"MODE": "fixed", "MAX_BATCH_SIZE": "1", "MAX_WAIT_TIME": "1000"},
    "proxy-adaptive": {"MODE": "adaptive", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "1000"},
}
"""The proxy's settings in each; ``None``: no proxy."""


def plan(mode: str, call_cost_ms: float) -> ServicePlan:
    """The servers of a mode, on an embedder whose calls have a fixed part of their cost."""
    return ServicePlan({"CALL_COST_MS": f"{call_cost_ms:g}"}, MODES[mode])


def _plan(parameters: Parameters) -> ServicePlan:
    proxy = {
        "MODE": str(parameters["mode"]),
        "MAX_BATCH_SIZE": str(parameters["max_batch_size"]),
        "MAX_WAIT_TIME": str(parameters["max_wait_time"]),
    }
    return ServicePlan(
        {"CALL_COST_MS": f"{parameters['call_cost_ms']:g}"}, None if parameters["route"] == "direct" else proxy
    )


def _items(parameters: Parameters, topology: Topology) -> int:
    return int(parameters[_ITEMS]) * min(topology.worker_count, 16)


def _lasts_s(parameters: Parameters) -> float:
    gathers = parameters["route"] == "proxy" and parameters["mode"] == "fixed" and int(parameters["max_batch_size"]) > 1
    each_s = (
        0.005 + float(parameters["call_cost_ms"]) / 1000 + (float(parameters["max_wait_time"]) / 1000 if gathers else 0)
    )
    return 1 + int(parameters[_ITEMS]) * each_s


def _metrics_of(requests: Samples, _totals: Mapping[str, float]) -> Mapping[str, float]:
    if not requests:
        return {}
    taken = sorted(request["taken_s"] for request in requests)
    return {
        "request_latency_p50": taken[len(taken) // 2],
        "request_latency_p99": taken[min(len(taken) - 1, int(0.99 * len(taken)))],
    }


FAMILY = Family("embedding", _items, _lasts_s, metrics_of=_metrics_of, services=_plan, quick={_ITEMS: "16"})

_PURPOSES = {
    "direct": "no proxy: a call for each request",
    "proxy-fixed": "through a proxy that waits for 8 requests, or 1 s",
    "proxy-fixed-1": "through the same proxy with batches of one: what the way through it costs",
    "proxy-adaptive": "through a proxy that gathers only while the service is busy",
}


def _parameters(mode: str) -> dict[str, Value]:
    proxy = MODES[mode] or {"MODE": "adaptive", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "1000"}
    return {
        "route": "direct" if MODES[mode] is None else "proxy",
        "mode": proxy["MODE"],
        "max_batch_size": int(proxy["MAX_BATCH_SIZE"]),
        "max_wait_time": int(proxy["MAX_WAIT_TIME"]),
        "call_cost_ms": 0.0,
        # Where every request waits for company that never comes, a second each.
        _ITEMS: 16 if proxy["MODE"] == "fixed" and proxy["MAX_BATCH_SIZE"] != "1" else 400,
        "inputs_per_item": 2,
        "seed": 1,
    }


SCENARIOS = tuple(
    Scenario(
        name=f"embedding-{mode}",
        purpose=f"a worker that has texts embedded, one request at a time; {purpose}",
        family=FAMILY,
        module=DATAFLOWS / "embedding.py",
        parameters=_parameters(mode),
        by_default=False,
    )
    for mode, purpose in _PURPOSES.items()
)
