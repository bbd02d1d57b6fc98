"""Family ``embedding``: workers that wait for a service, perhaps behind a proxy that batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule, on_each_reading_worker
from waitbench.model.metrics import Metric, quantile
from waitbench.model.scenario import (
    Family,
    Parameters,
    Samples,
    Scenario,
    Service,
    ServicePlan,
    Value,
)
from waitbench.system.places import DATAFLOWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents

_ITEMS = "items_per_worker"
UPSTREAM_CALLS = "upstream_calls"
"""The key of the proxy's counter."""

METRICS = (
    Metric("request-time", "request_latency_p99", "second", "request time at p99"),
    Metric("request-time-p50", "request_latency_p50", "second", "median request time"),
    Metric("proxy-cpu", "service_cpu_proxy", "second", "the proxy's CPU"),
    Metric("embedder-cpu", "service_cpu_embedder", "second", "the embedder's CPU"),
    Metric("upstream-calls", UPSTREAM_CALLS, "count", "upstream calls"),
)

MODES: Mapping[str, Mapping[str, str] | None] = {
    "direct": None,
    "proxy-fixed": {"MODE": "fixed", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "1000"},
    "proxy-fixed-1": {"MODE": "fixed", "MAX_BATCH_SIZE": "1", "MAX_WAIT_TIME": "1000"},
    "proxy-adaptive": {"MODE": "adaptive", "MAX_BATCH_SIZE": "8", "MAX_WAIT_TIME": "1000"},
}
"""The proxy's settings in each; ``None``: no proxy."""


def plan(mode: str, *, call_cost_ms: float = 0.0, url: str | None = None) -> ServicePlan:
    """The servers of a mode.

    ``call_cost_ms`` is a fixed part of the cost of each call to our embedder; ``url`` is somebody
    else's service, which then stands in our embedder's place.
    """
    return _plan(None if url else call_cost_ms, MODES[mode], url)


def _plan(
    call_cost_ms: float | None, proxy: Mapping[str, str] | None, url: str | None = None
) -> ServicePlan:
    services = []
    if call_cost_ms is not None:
        services.append(Service(name="embedder", settings={"CALL_COST_MS": f"{call_cost_ms:g}"}))
    if proxy is not None:
        services.append(
            Service(
                name="proxy",
                settings=proxy,
                upstream_variable="INFERENCE_SERVICE_URL",
                counters=_calls_of_proxy,
            )
        )
    return ServicePlan(services=tuple(services), url=url)


def _calls_of_proxy(url: str) -> Mapping[str, float]:
    # Here: urllib takes longer to import than all families together.
    from waitbench.families.embedding import traffic

    return {UPSTREAM_CALLS: traffic.upstream_calls(url)}


def _plan_of_scenario(parameters: Parameters) -> ServicePlan:
    proxy = {
        "MODE": str(parameters["mode"]),
        "MAX_BATCH_SIZE": str(parameters["max_batch_size"]),
        "MAX_WAIT_TIME": str(parameters["max_wait_time"]),
    }
    cost_ms = float(parameters["call_cost_ms"])
    plan = _plan(cost_ms, None if parameters["route"] == "direct" else proxy)
    return replace(plan, warm_up=_warm_up)


def _warm_up(url: str) -> None:
    from waitbench.families.embedding import traffic

    traffic.warm_up(url)


def _lasts_s(parameters: Parameters) -> float:
    gathers = (
        parameters["route"] == "proxy"
        and parameters["mode"] == "fixed"
        and int(parameters["max_batch_size"]) > 1
    )
    waits_ms = float(parameters["max_wait_time"]) if gathers else 0.0
    each_s = 0.005 + (float(parameters["call_cost_ms"]) + waits_ms) / 1000
    return 1 + int(parameters[_ITEMS]) * each_s


def _metrics_of(requests: Samples, _totals: Mapping[str, float]) -> Mapping[str, float]:
    if not requests:
        return {}
    taken_s = [request["taken_s"] for request in requests]
    return {
        "request_latency_p50": quantile(taken_s, 0.5),
        "request_latency_p99": quantile(taken_s, 0.99),
    }


FAMILY = Family(
    name="embedding",
    items=on_each_reading_worker(_ITEMS),
    lasts_s=_lasts_s,
    metrics=METRICS,
    metrics_of=_metrics_of,
    services=_plan_of_scenario,
    defining=frozenset({"route", "mode"}),
    quick={_ITEMS: "16"},
)

_PURPOSES = {
    "direct": "no proxy: a call for each request",
    "proxy-fixed": "through a proxy that waits for 8 requests, or 1 s",
    "proxy-fixed-1": "through the same proxy with batches of one: what the way through it costs",
    "proxy-adaptive": "through a proxy that gathers only while the service is busy",
}


def _parameters(mode: str) -> dict[str, Value]:
    # Without a proxy its parameters say nothing, but stand for ``--set``.
    proxy = MODES[mode] or MODES["proxy-adaptive"]
    assert proxy is not None, "a mode with a proxy"
    waits_for_company = proxy["MODE"] == "fixed" and proxy["MAX_BATCH_SIZE"] != "1"
    return {
        "route": "direct" if MODES[mode] is None else "proxy",
        "mode": proxy["MODE"],
        "max_batch_size": int(proxy["MAX_BATCH_SIZE"]),
        "max_wait_time": int(proxy["MAX_WAIT_TIME"]),
        "call_cost_ms": 0.0,
        # Where every request waits for company that never comes, that takes a second each.
        _ITEMS: 16 if waits_for_company else 400,
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


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.embedding import kept, tables

    return tables.tables(contents.records, kept.loads(contents))


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.embedding import charts, kept

    return charts.figures(kept.loads(contents))


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures, command="load")
