"""Family ``scoring``: workers that wait for a model, in their own process or behind a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from waitbench.families.base import FamilyModule, on_each_reading_worker
from waitbench.model.metrics import Metric, quantile
from waitbench.model.scenario import Family, Parameters, Samples, Scenario
from waitbench.system.places import DATAFLOWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from waitbench.reporting.document import Table
    from waitbench.store.comparisons import Contents

_CALLS = "calls_per_worker"

METRICS = (
    Metric("lines", "lines_per_call", "count", "lines per call"),
    Metric("call-time", "call_time_p99", "second", "call time at p99"),
    Metric("call-time-max", "call_time_max", "second", "longest call"),
    Metric("call-user", "call_user", "second", "the worker's user time per call"),
    Metric("call-system", "call_system", "second", "the worker's system time per call"),
    Metric("model-user", "call_model_user", "second", "the model's user time per call"),
    Metric("model-system", "call_model_system", "second", "the model's system time per call"),
)


def _lasts_s(parameters: Parameters) -> float:
    each_s = max(float(parameters["timeout_ms"]) / 1000, float(parameters["interval"]))
    return 1.7 + float(parameters[_CALLS]) * each_s


def _metrics_of(calls: Samples, totals: Mapping[str, float]) -> Mapping[str, float]:
    if not calls:
        return {}
    taken_s = [call["taken_s"] for call in calls]
    return {
        "lines_per_call": _mean(calls, "lines"),
        "call_time_p99": quantile(taken_s, 0.99),
        "call_time_max": max(taken_s),
        "call_user": _mean(calls, "user_s"),
        "call_system": _mean(calls, "system_s"),
        "call_model_user": totals.get("model_user_s", 0.0) / len(calls),
        "call_model_system": totals.get("model_system_s", 0.0) / len(calls),
    }


def _mean(calls: Samples, name: str) -> float:
    return sum(call[name] for call in calls) / len(calls)


FAMILY = Family(
    name="scoring",
    items=on_each_reading_worker(_CALLS),
    lasts_s=_lasts_s,
    metrics=METRICS,
    metrics_of=_metrics_of,
    # The one maintained binding; it has wheels for CPython 3.10 and later.
    requirements=("vowpalwabbit==9.11.9",),
    assets=DATAFLOWS / "scorers" / "vw.py",
    defining=frozenset({"transport"}),
    quick={_CALLS: "100"},
)

TRANSPORTS = {
    "inprocess": "the model in the worker's own process",
    "blocking": "a model behind a blocking pipe: most lines, no promise of when",
    "nonblocking-spin": (
        "a model behind a nonblocking pipe, asked again at once when it has nothing"
    ),
    "nonblocking-park": (
        "a model behind a nonblocking pipe, and a worker that sleeps until it has something"
    ),
}
"""What each is, by the value of the parameter ``transport``."""

SCENARIOS = tuple(
    Scenario(
        name=f"scoring-{transport}",
        purpose=f"as many of 3,000 candidates as 10 ms allow; {what}",
        family=FAMILY,
        module=DATAFLOWS / "scoring.py",
        parameters={
            "transport": transport,
            "timeout_ms": 10.0,
            _CALLS: 300,
            "candidates": 3_000,
            "interval": 0.0,
            "seed": 1,
        },
        by_default=False,
    )
    for transport, what in TRANSPORTS.items()
)


def _tables(contents: Contents) -> Sequence[Table]:
    from waitbench.families.scoring import tables

    return tables.tables(contents.records)


def _figures(contents: Contents) -> Mapping[str, Figure]:
    from waitbench.families.scoring import charts

    return charts.figures(contents.records)


MODULE = FamilyModule(scenarios=SCENARIOS, tables=_tables, figures=_figures)
