"""What waiting costs in the units that people pay in."""

import pytest

from tests.records import make_record, times
from waitbench.analysis import statistics
from waitbench.analysis.idle import HOURS_A_MONTH, idle_costs
from waitbench.engines.worker.metrics import WAITING as OF_WORKERS
from waitbench.engines.worker.metrics import metrics_of_service
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.reporting.idle import Price

WINDOW_S = 4.0


def run(cores: float, **more: float) -> dict[str, float]:
    return {
        **times(5, 0.1, 0.1),
        "time_cpu_steady": cores * WINDOW_S,
        "cpu_share_steady": cores,
        **more,
    }


def costs_of(record: Record) -> list[float]:
    return [one.core_hours for one in idle_costs([statistics.compare(record)])]


def test_core_hours_are_steady_cpu_over_the_window_by_the_hours_of_a_month() -> None:
    steady = [0.05, 0.06, 0.055]
    record = make_record({"a": [run(one / WINDOW_S, wakeups=80.0) for one in steady]})
    (found,) = idle_costs([statistics.compare(record)])
    assert found.window_s == pytest.approx(WINDOW_S)
    mean_s = sum(steady) / 3
    assert found.core_hours == pytest.approx(mean_s / WINDOW_S * HOURS_A_MONTH)
    assert found.rates == {"wakeups": pytest.approx(20.0)}
    assert found.cores.low is not None


def test_each_service_has_rates_of_its_own() -> None:
    more = {
        "service_cpu_steady_redis": 0.4, "service_requests_redis": 8.0,
        "service_bytes_redis": 400.0, "service_cpu_steady_other": 0.0, "service_requests": 8.0,
    }  # fmt: skip
    record = make_record({"a": [run(0.1, **more)]})
    of_services = (
        *metrics_of_service("redis", counts=True), *metrics_of_service("other", counts=False),
    )  # fmt: skip
    record.metrics = (*METRICS, *OF_WORKERS, *of_services)
    (found,) = idle_costs([statistics.compare(record)])
    assert found.services == ("redis", "other")
    assert found.rates == {
        "service-cpu-redis": 0.1, "service-requests-redis": 2.0, "service-bytes-redis": 100.0,
        "service-cpu-other": 0.0,
    }  # fmt: skip


def test_work_is_no_waiting_and_without_a_steady_phase_nobody_knows() -> None:
    working = make_record({"a": [run(0.1)]})
    working.works = True
    assert costs_of(working) == []
    assert costs_of(make_record({"a": [run(0.1)]}, waits=False)) == []
    assert costs_of(make_record({"a": [times(1, 1, 1)]})) == []


@pytest.mark.parametrize(
    "text", ["0.04", "0/core-hour", "-1/core-hour", "/core-hour", "0.04/hour", "1e9/core-hour", ""]
)
def test_what_is_no_price_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not AMOUNT/core-hour, such as 0\.04/core-hour"):
        Price.parse(text)
