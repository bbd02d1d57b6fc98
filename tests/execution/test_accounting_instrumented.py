"""What instruments count of a run, and which part of it."""

from typing import Any

import pytest

from tests.execution.told import at, child, timing, used, worker
from waitbench.execution.accounting import instrumented_metrics, metrics_of
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


def test_an_instrumented_run_gives_calls_and_the_split_of_the_steady_phase() -> None:
    workers = [worker(pid, **COUNTED) for pid in (1, 2)]
    seen = clock(
        # At 0 s and 6 s they start and end; process 9 is none of the workers.
        p1={"user": [0, 1, 2, 3, 6], "system": [0, 4]},
        p2={"user": [], "system": [5, 6]},
        p9={"user": [1, 2, 3], "system": [1, 2, 3]},
    )
    given = instrumented_metrics(LAUNCHED, workers, seen)
    assert given == {
        "system_calls": 6900,
        "system_share_steady": pytest.approx(2 / 5),
        "cpu_sampled_share": pytest.approx(0.5 / 1.0),
    }


def test_samples_of_all_but_our_launcher_are_those_of_a_worker_that_speaks_for_them() -> None:
    seen = clock(
        p1={"user": [1], "system": []},
        p9={"user": [0, 2], "system": [3, 6]},
        p7={"user": [1], "system": [1, 2]},
    )
    launched = {**LAUNCHED, "launcher": used(0.1, pid=7)}
    given = instrumented_metrics(launched, [worker(1, **COUNTED, speaks_for_all=True)], seen)
    assert given["system_share_steady"] == pytest.approx(1 / 3)


def test_a_worker_that_uses_nothing_has_a_split_though_no_sample_is_of_it() -> None:
    idle = worker(1, first_poll=at(0.2, 0.1, waited=0), end_of_input=at(5.2, 0.1, waited=0))
    assert instrumented_metrics(LAUNCHED, [idle], clock())["system_share_steady"] == 0.0


@pytest.mark.parametrize("lacking", ["first_poll", "end_of_input"])
@pytest.mark.parametrize("how", [{}, {"system_calls": None}])
def test_a_count_that_a_probe_lacks_is_absent(how: dict[str, None], lacking: str) -> None:
    part = {key: value for key, value in COUNTED[lacking].items() if key != "system_calls"}
    reports = [worker(1, **{**COUNTED, lacking: {**part, **how}})]
    assert instrumented_metrics(LAUNCHED, reports, None) == {}


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


def test_workers_that_never_polled_give_nothing_to_instruments() -> None:
    idle = worker(1, first_poll=None, end_of_input=None)
    seen = clock(p1={"user": [1], "system": []})
    assert instrumented_metrics(LAUNCHED, [idle], seen) == {}


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
