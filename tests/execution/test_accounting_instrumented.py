"""What instruments count of a run, and which part of it."""

from typing import Any

import pytest

from tests.execution.told import at, used, worker
from waitbench.execution.accounting import instrumented_metrics
from waitbench.system.sampling import ClockSampler

LAUNCHED: dict[str, Any] = {"children": []}


def clock(**samples: dict[str, list[int]]) -> ClockSampler:
    """A sampler that has seen this: times in seconds, by ``p<pid>`` and mode."""
    sampler = ClockSampler(100_000_000)
    sampler.samples = {
        int(name.removeprefix("p")): {mode: [s * 10**9 for s in at] for mode, at in modes.items()}
        for name, modes in samples.items()
    }
    return sampler


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
    assert instrumented_metrics(LAUNCHED, reports, None) == {"system_calls": 7000 - 300}


@pytest.mark.parametrize(
    "seen",
    [
        None,
        ClockSampler(1),
        clock(),
        clock(p9={"user": [1], "system": []}),
        clock(p1={"user": [0], "system": [6]}),
    ],
)
def test_a_split_that_was_not_sampled_is_absent(seen: ClockSampler | None) -> None:
    given = instrumented_metrics(LAUNCHED, [worker(1, **COUNTED)], seen)
    assert given == {"system_calls": 6900}
