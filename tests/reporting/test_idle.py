"""What waiting costs in plain units: the same figures in every output, and money only if asked."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from tests.records import make_record, specify, times
from waitbench.analysis import statistics
from waitbench.analysis.statistics import Comparison, IdleCost
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, WAITING, WINDOW
from waitbench.model.record import ScenarioResults
from waitbench.model.verdicts import Estimate
from waitbench.reporting import idle
from waitbench.reporting.idle import parse_price

WINDOW_S, STEADY_S = 4.0, {"v1": 0.0561, "v2": 0.0036}
PRICE = parse_price("0.04/core-hour")


def runs(label: str, **more: float) -> list[dict[str, float]]:
    idle_s = STEADY_S[label]
    known = {
        "time_cpu_idle": idle_s, "cpu_share_idle": idle_s / WINDOW_S, "wakeups": 4000.0,
        "memory_peak_resident": 20 * 2**20, "items_in": 0.0, **more,
    }  # fmt: skip
    return [{**times(5, 0.1, 0.1), **known}] * 3


def record(**more: float) -> ScenarioResults:
    return make_record({label: runs(label, **more) for label in STEADY_S}, scenario="idle")


def served() -> ScenarioResults:
    """A scenario with services."""
    counted = {"service_requests": 44.0, "service_bytes": 4000.0, "service_cpu_idle": 0.02}
    made = record(**counted)
    specify(made, metrics=(*METRICS, *WAITING))
    return made


def cost_of(cores: float) -> IdleCost:
    figures = {"wakeups": 9.9, "latency-p50": 0.0096, "memory": 22 * 2.0**20}
    return IdleCost(cores=Estimate(cores, None, None, 1), window_s=8, figures=figures)


def workers(costs: Sequence[tuple[str, str, IdleCost | None]]) -> list[Comparison]:
    """A comparison of one revision for each scenario, label and cost."""
    spec = SimpleNamespace(waits=True, works=False, scan=None)
    return [
        cast(
            Comparison,
            SimpleNamespace(
                record=SimpleNamespace(scenario=scenario, spec=spec),
                figures={label: ()},
                rounds=3,
                idle_cost={label: cost}.get,
            ),
        )
        for scenario, label, cost in costs
    ]


COSTS = [
    ("python-floor", "inline", cost_of(0.08)), ("confluent-kafka", "2.13.2", cost_of(0.0014)),
    ("c", "c", cost_of(0.0)), ("d", "d", None), ("spins", "spins", cost_of(2.0)),
]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["0.04", "0/core-hour", "-1/core-hour", "/core-hour", "0.04/hour", "1e9/core-hour", ""]
)
def test_what_is_no_price_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not AMOUNT/core-hour, such as 0\.04/core-hour"):
        parse_price(text)


def test_work_is_no_waiting_and_without_a_window_nobody_knows() -> None:
    working = record()
    specify(working, works=True)
    busy = make_record({label: runs(label) for label in STEADY_S}, waits=False)
    for made in (working, busy, make_record({"a": [times(1, 1, 1)]})):
        assert idle.tables([statistics.compare(made)]) == []


def test_what_used_no_cpu_is_counted_by_the_second_of_its_window() -> None:
    unused = {"time_cpu_idle": 0.0, "cpu_share_idle": 0.0}
    for window, a_second in (({}, None), ({WINDOW: WINDOW_S}, 4000 / WINDOW_S)):
        slept = make_record({"v1": runs("v1", **unused, **window)})
        cost = statistics.compare(slept).idle_cost("v1")
        assert cost is not None
        assert cost.figures.get("wakeups") == a_second
