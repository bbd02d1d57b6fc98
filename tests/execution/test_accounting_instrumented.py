"""What instruments count of a run, and which part of it."""

from typing import Any

import pytest

from tests.execution.told import at, worker
from waitbench.execution.accounting import instrumented_metrics


def clock(**samples: dict[str, list[int]]) -> dict[str, Any]:
    """What our launcher says of the clock: times in seconds, by ``p<pid>`` and mode."""
    return {
        "period_ns": 100_000_000,
        "samples": {
            name.removeprefix("p"): {mode: [s * 10**9 for s in at] for mode, at in modes.items()}
            for name, modes in samples.items()
        },
    }


COUNTED = {
    "first_poll": at(0.2, 0.1, waited=10, calls=100),
    "end_of_input": at(5.2, 0.5, 0.1, waited=1000, calls=7000),
}


def test_an_instrumented_run_gives_calls_and_the_split_of_the_steady_phase() -> None:
    workers = [worker(pid, **COUNTED) for pid in (1, 2)]
    seen = clock(
        # At 0 s and 6 s they start and end; process 9 is none of the workers.
        p1={"user": [0, 1, 2, 3, 6], "system": [0, 4]},
        p2={"user": [], "system": [5, 6]},
        p9={"user": [1, 2, 3], "system": [1, 2, 3]},
    )
    given = instrumented_metrics({"clock": seen, "children": []}, workers)
    assert given == {
        "system_calls": 2 * 6900,
        "system_share_steady": pytest.approx(2 / 5),
        "cpu_sampled_share": pytest.approx(0.5 / 1.0),
    }


def test_samples_of_all_processes_are_those_of_a_worker_that_speaks_for_them() -> None:
    seen = clock(p1={"user": [1], "system": []}, p9={"user": [0, 2], "system": [3, 6]})
    given = instrumented_metrics(
        {"clock": seen, "children": []}, [worker(1, **COUNTED, speaks_for_all=True)]
    )
    assert given["system_share_steady"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("lacking", ["first_poll", "end_of_input"])
def test_a_count_that_one_worker_lacks_is_absent_rather_than_that_of_the_others(
    lacking: str,
) -> None:
    part = {**COUNTED, lacking: {**COUNTED[lacking], "system_calls": None}}
    reports = [worker(1, **COUNTED), worker(2, **part)]
    assert instrumented_metrics({"clock": None, "children": []}, reports) == {}


@pytest.mark.parametrize(
    "seen",
    [
        None,
        {"period_ns": 1, "samples": None},
        clock(),
        clock(p9={"user": [1], "system": []}),
        clock(p1={"user": [0], "system": [6]}),
    ],
)
def test_a_split_that_was_not_sampled_is_absent(seen: dict[str, Any] | None) -> None:
    given = instrumented_metrics({"clock": seen, "children": []}, [worker(1, **COUNTED)])
    assert given == {"system_calls": 6900}


def test_workers_that_never_polled_give_nothing_to_instruments() -> None:
    idle = worker(1, first_poll=None, end_of_input=None)
    assert instrumented_metrics(
        {"clock": clock(p1={"user": [1], "system": []}), "children": []}, [idle]
    ) == {"system_calls": 0}
