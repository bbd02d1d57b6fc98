"""How far a comparison is: what is said, and that it does not go back."""

import io
import math
import re
from dataclasses import replace

import pytest

from tests.records import measurement, outcome
from waitbench.engines import SCENARIOS
from waitbench.model.metrics import WINDOW
from waitbench.model.run import WARM_UP, Measurement, PlannedRun
from waitbench.reporting.console import make_console
from waitbench.reporting.output import RunProgress

SCENARIO = next(it for it in SCENARIOS if it.waits and not it.large_changes_only)
RUNS = [
    PlannedRun(scenario=SCENARIO, label="new", round=number, position=0) for number in range(1, 9)
]


class ClockedBar:
    """A bar on a console of its own, and a clock that goes on as runs are made."""

    def __init__(self, *, is_terminal: bool = False) -> None:
        self.file, self.now = io.StringIO(), 0.0
        console = make_console(file=self.file, width=80)
        if is_terminal:
            console._force_terminal = console.is_interactive = True
        self.bar = RunProgress(console, quiet=False, clock=lambda: self.now)
        self.shares: list[float] = []

    def carry_out(self, run: PlannedRun, length: float = 1.0) -> None:
        self.bar.begin(run)
        self.now += length * SCENARIO.expected_s
        self.bar.end(run, measurement("new", run.round, {"time_user": 0.0123}))
        self.bar.end_rounds([run])
        self.shares.append(self.bar._bar.tasks[0].completed)

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.file.getvalue())

    @property
    def seconds_left(self) -> list[float]:
        times = re.findall(r"about (\d+):(\d\d) left", self.text)
        return [60.0 * int(minutes) + int(seconds) for minutes, seconds in times]


def waited(label: str, number: int, window_s: float = 4.0) -> Measurement:
    """A run with a window."""
    return measurement(label, number, {"time_user": 0.0123, WINDOW: window_s})


def test_the_bar_does_not_go_back_if_more_time_is_left_than_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # which can move its cursor
    clocked = ClockedBar(is_terminal=True)
    left_s = [80, 60, 200, 40, 20]
    with clocked.bar as bar:
        bar.expect(lambda: left_s[len(clocked.shares)], math.inf, 8)
        for run in RUNS[:4]:
            clocked.carry_out(run)
    assert clocked.seconds_left[:4] == left_s[:4]
    assert clocked.shares == sorted(clocked.shares)
    assert len(set(clocked.shares)) == 3


def test_a_long_name_leaves_the_progress_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clocked = ClockedBar(is_terminal=True)
    run = PlannedRun(scenario=SCENARIO, label="a-branch-with-a-longer-name", round=1, position=0)
    with clocked.bar as bar:
        bar.expect(lambda: 600.0, 1800.0)
        bar.begin(run)
    (line,) = {line.rstrip() for line in re.split("[\r\n]", clocked.text) if "round 1" in line}
    assert " ".join(line.split()).endswith(
        " · round 1 · a-branch-with-a-longer-name about 10:00 left"
    )
    assert line.startswith(SCENARIO.name[:4])
    assert len(line) <= 80


def test_a_file_has_a_line_for_each_round_and_each_failure() -> None:
    clocked = ClockedBar()
    rounds = [[run, replace(run, label="old", position=1)] for run in RUNS[:4]]
    with clocked.bar as bar:
        bar.expect(lambda: 0.0, math.inf, 4)
        for run in rounds[0]:
            bar.begin(run)
            bar.end(run, measurement(run.label, run.round, {"time_user": 0.0123}))
        bar.end_rounds(rounds[0])
        # Two rounds at once.
        for run in rounds[1] + rounds[2]:
            bar.begin(run)
        for run in rounds[1] + rounds[2]:
            bar.end(run, measurement(run.label, run.round, {"time_user": 0.0123}))
        bar.end_rounds(rounds[1] + rounds[2])
        for run in rounds[3]:
            bar.begin(run)
            bar.end(run, outcome(run.label, run.round, "failed", message="exit code 1"))
        bar.end_rounds(rounds[3])
    lines = [line.rpartition(" · ")[0] for line in clocked.text.splitlines()]
    assert lines == [
        f"{SCENARIO.name} · round 1 of 4",
        f"{SCENARIO.name} · round 3 of 4",
        f"{SCENARIO.name} · round 4 of 4 · new",
        f"{SCENARIO.name} · round 4 of 4 · old",
        f"{SCENARIO.name} · round 4 of 4",
    ]


def test_the_time_of_each_kind_of_round_can_be_printed() -> None:
    clocked = ClockedBar()
    warm_up = replace(RUNS[0], round=WARM_UP)
    clocked.bar.say_time_spent()
    for batch, lasts_s in ([warm_up], 5), (RUNS[:1], 6), (RUNS[1:2], 6), (RUNS[2:6], 7):
        clocked.now += 1
        for run in batch:
            clocked.bar.begin(run)
        clocked.now += lasts_s
        failed = outcome("new", batch[0].round, "failed", message="exit code 1")
        clocked.bar.end(batch[0], failed if len(batch) > 1 else waited("new", batch[0].round))
        for run in batch[1:]:
            clocked.bar.end(run, waited("new", run.round, 5.0 if run == batch[2] else 4.0))
    clocked.bar.say_time_spent()
    first, *_, last = clocked.text.splitlines()
    assert first == "Time: between runs 0 µs."
    assert last == (
        "Time: between runs 4.0 s, warm-ups 5.0 s (windows 4.0 s), rounds in turns 12 s (windows "
        "8.0 s), concurrent rounds 7.0 s (windows 5.0 s)."
    )


def test_a_round_that_is_repeated_says_why() -> None:
    clocked = ClockedBar()
    with clocked.bar as bar:
        clocked.carry_out(RUNS[0])
        bar.repeat(RUNS[:1])
    text = f"{SCENARIO.name}, round 1 again: other programs used CPU meanwhile."
    assert text in " ".join(clocked.text.split())


@pytest.mark.parametrize("budget", [100, 50])
def test_the_time_left_ends_with_the_budget(budget: int) -> None:
    clocked, run_s = ClockedBar(), SCENARIO.expected_s
    with clocked.bar as bar:
        bar.expect(lambda: 45 * run_s, budget * run_s)
        clocked.carry_out(replace(RUNS[0], round=WARM_UP), 2.0)
        assert not clocked.text
        for run in RUNS[:2]:
            clocked.carry_out(run, 2.0)
    expected_s = [min(45, budget - spent) * run_s for spent in (4, 6)]
    assert clocked.seconds_left == pytest.approx(expected_s, abs=1)
