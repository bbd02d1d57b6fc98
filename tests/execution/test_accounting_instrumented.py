"""What instruments count of a run, and which part of it."""

from typing import Any

import pytest

from tests.execution.told import at, child, timing, used, worker
from waitbench.execution.accounting import instrumented_metrics, metrics_of

COUNTED = {
    "first_poll": at(0.2, 0.1, waited=10, calls=100),
    "end_of_input": at(5.2, 0.5, 0.1, waited=1000, calls=7000),
}


@pytest.mark.parametrize("lacking", ["first_poll", "end_of_input"])
@pytest.mark.parametrize("how", [{}, {"system_calls": None}])
def test_a_count_that_a_probe_lacks_is_absent(how: dict[str, None], lacking: str) -> None:
    part = {key: value for key, value in COUNTED[lacking].items() if key != "system_calls"}
    reports = [worker(1, **{**COUNTED, lacking: {**part, **how}})]
    assert instrumented_metrics(reports) == {}


def test_calls_are_those_of_all_from_the_last_first_poll_to_the_last_end_of_input() -> None:
    late = {
        "first_poll": at(0.7, 0.1, waited=10, calls=300),
        "end_of_input": at(4.9, 0.5, 0.1, waited=1000, calls=6000),
    }
    # It was given no partition, and waited from when it was loaded to its exit.
    idle = worker(
        3, first_poll=None, end_of_input=None,
        loaded=at(0.9, 0.1, waited=5, calls=400), exit=at(5.9, 0.1, waited=9, calls=9000),
    )  # fmt: skip
    reports = [worker(1, **COUNTED), worker(2, **late), idle]
    assert instrumented_metrics(reports) == {"system_calls": 7000 - 300}


def test_workers_that_never_polled_give_nothing_to_instruments() -> None:
    assert instrumented_metrics([worker(1, first_poll=None, end_of_input=None)]) == {}


@pytest.mark.parametrize("lacking", ["polls", "lateness_ns", "spawned_ns", "switches_voluntary"])
def test_what_a_probe_of_an_engines_own_does_not_report_is_absent_and_no_failure(
    lacking: str,
) -> None:
    def without(report: dict[str, Any]) -> dict[str, Any]:
        return {
            key: without(value) if isinstance(value, dict) else value
            for key, value in report.items()
            if key != lacking
        }

    launched = {"launcher": used(0.0), "children": [child(1, 0.6, 0.1)]}
    whole, part = (
        metrics_of(timing(5.0, 0.6, 0.1), launched, [report])
        for report in (worker(1), without(worker(1)))
    )
    assert part.items() < whole.items()
