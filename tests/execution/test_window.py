"""How long a gate watches a worker of which nobody says it: what a first run tells."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.execution.launches import LAUNCHER, worker
from waitbench.execution import window
from waitbench.execution.window import EVERY_S, LEAST_S, MOST_S, SEEN_S, Reading
from waitbench.system.paths import PACKAGE

Timer = tuple[float, float]
"""Seconds from one time to the next, and CPU seconds each time."""
TICK: Timer = (0.1, 0.0003)


def readings(*timers: Timer, seconds: float, first: float = 1.0) -> list[Reading]:
    """What is read of a worker with such timers, the first time after this share of each period."""
    totals = []
    for number in range(round(seconds / EVERY_S) + 1):
        # Between two timers' times.
        now_s = number * EVERY_S + 0.013
        counts = [max(0, int(now_s / period_s + 1 - first)) for period_s, _ in timers]
        used_s = sum(count * cpu_s for count, (_, cpu_s) in zip(counts, timers, strict=True))
        totals.append((float(sum(counts)), used_s))
    return totals


def found_window_s(*timers: Timer, first: float = 1.0) -> float:
    """The window that is found, as soon as one is."""
    whole = readings(*timers, seconds=MOST_S, first=first)
    tries = (window.shortest_window_s(whole[:count]) for count in range(2, len(whole) + 1))
    return next(it for it in tries if it is not None)


@pytest.mark.parametrize("first", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("period_s", [1.5, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("others", [(), (TICK,)], ids=["alone", "beside ticks"])
def test_a_window_has_three_periods_or_more_of_what_matters(
    others: Sequence[Timer], period_s: float, first: float
) -> None:
    assert found_window_s(*others, (period_s, 0.05), first=first) >= 3 * period_s


@pytest.mark.parametrize("timers", [(), (TICK,), (TICK, (0.25, 0.001)), ((1.0, 0.005),)])
def test_a_worker_that_does_the_same_each_second_is_watched_as_briefly_as_any(
    timers: Sequence[Timer],
) -> None:
    assert found_window_s(*timers) == LEAST_S


def test_what_comes_once_while_it_is_watched_has_the_longest_window() -> None:
    """Such as 400 ms each 10 s."""
    assert found_window_s((10.0, 0.4)) == MOST_S


def test_what_never_repeats_itself_has_the_longest_window() -> None:
    costs = [number**2 for number in range(round(MOST_S / EVERY_S) + 1)]
    whole = [(float(it), it * 0.001) for it in costs]
    assert window.shortest_window_s(whole[:-1]) is None
    assert window.shortest_window_s(whole) == MOST_S


def test_nothing_is_found_before_what_a_worker_does_at_first_was_seen() -> None:
    assert window.shortest_window_s(readings(TICK, seconds=SEEN_S - EVERY_S)) is None
    assert window.shortest_window_s(readings(TICK, seconds=SEEN_S)) == LEAST_S


IN_A_SECOND = f"""
import sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
from waitbench.execution import launch, window
window.SEEN_S, window.LEAST_S = 1.0, 1.0
sys.exit(launch.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("program", "window_s"), [(LAUNCHER, 0.3), (("-c", IN_A_SECOND), 0.0)])
def test_a_run_without_a_window_finds_one_and_tells_it(
    program: Sequence[str], window_s: float, tmp_path: Path
) -> None:
    code = "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.05)"
    more = "ready = { log = 'up', within = 20 }\nsettled = { seconds = 0.1 }\n"
    run = worker(tmp_path, code, more, program=program, window_s=window_s)
    assert run.exit_code == 0, run.failure
    assert run.report["totals"].get("time_window") == (None if window_s else 1.0)
