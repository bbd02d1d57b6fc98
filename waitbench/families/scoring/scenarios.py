"""Family ``scoring``: workers that wait for a model, in their own process or behind a pipe."""

from collections.abc import Mapping

from waitbench.model.scenario import Family, Parameters, Samples, Scenario, Topology
from waitbench.system.places import DATAFLOWS

_CALLS = "calls_per_worker"


def _items(parameters: Parameters, topology: Topology) -> int:
    return int(parameters[_CALLS]) * min(topology.worker_count, 16)


def _lasts_s(parameters: Parameters) -> float:
    return 1.5 + float(parameters[_CALLS]) * max(float(parameters["timeout_ms"]) / 1000, float(parameters["interval"]))


def _metrics_of(calls: Samples, totals: Mapping[str, float]) -> Mapping[str, float]:
    if not calls:
        return {}
    count = len(calls)
    taken = sorted(call["taken_s"] for call in calls)
    return {
        "lines_per_call": sum(call["lines"] for call in calls) / count,
        "call_time_p99": taken[min(count - 1, int(0.99 * count))],
        "call_time_max": taken[-1],
        "call_user": sum(call["user_s"] for call in calls) / count,
        "call_system": sum(call["system_s"] for call in calls) / count,
        "call_model_user": totals.get("model_user_s", 0.0) / count,
        "call_model_system": totals.get("model_system_s", 0.0) / count,
    }


FAMILY = Family(
    "scoring",
    _items,
    _lasts_s,
    # The one maintained binding; it has wheels for CPython 3.10 and later.
    requirements=("vowpalwabbit==9.11.9",),
    assets=DATAFLOWS / "scorers" / "vw.py",
    metrics_of=_metrics_of,
    quick={_CALLS: "100"},
)

_PURPOSES = {
    "inprocess": "the model in the worker's own process",
    "blocking": "a model behind a blocking pipe: most lines, no promise of when",
    "nonblocking-spin": "a model behind a nonblocking pipe, asked again at once when it has nothing",
    "nonblocking-park": "a model behind a nonblocking pipe, and a worker that sleeps until it has something",
}

SCENARIOS = tuple(
    Scenario(
        name=f"scoring-{transport}",
        purpose=f"as many of 3,000 candidates as 10 ms allow; {purpose}",
        family=FAMILY,
        module=DATAFLOWS / "scoring.py",
        parameters={
            "transport": transport, "timeout_ms": 10.0, _CALLS: 300, "candidates": 3_000, "interval": 0.0, "seed": 1,
        },
        by_default=False,
    )
    for transport, purpose in _PURPOSES.items()
)  # fmt: skip
