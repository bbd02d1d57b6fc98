"""How far a comparison is: what is said, and that it does not go back."""

import io
import re

import pytest
from rich.console import Console

from waitbench.engines import SCENARIOS
from waitbench.model.run import Measurement, PlannedRun
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import RunProgress

SCENARIO = next(one for one in SCENARIOS if one.waits and not one.large_changes_only)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can move its cursor, whatever the tests are run in."""
    monkeypatch.setenv("TERM", "xterm")


def planned(number: int, label: str = "new") -> PlannedRun:
    return PlannedRun(scenario=SCENARIO, label=label, round=number, position=0)


def measured(run: PlannedRun) -> Measurement:
    return Measurement(
        label=run.label, round=run.round, position=0, started_at="", metrics={"time_user": 0.0123}
    )


def on_terminal(width: int = 80) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    console = make_console(file=file, width=width)
    console._force_terminal = console.is_interactive = True
    return console, file


def plain(file: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue())


def seconds_left(text: str) -> list[float]:
    units = {"s": 1, "min": 60, "h": 3600}
    found = re.findall(r"([0-9.]+) (s|min|h) left", text)
    return [float(number) * units[unit] for number, unit in found]


def carry_out(bar: RunProgress, clock: Clock, runs: list[PlannedRun], paces: list[float]) -> None:
    for run, pace in zip(runs, paces, strict=True):
        bar.begin(run)
        clock.now += pace * run.scenario.expected_s
        bar.end(run, measured(run))


def test_the_time_left_follows_the_pace_and_the_bar_does_not_go_back() -> None:
    console, file = on_terminal()
    clock, runs = Clock(), [planned(number) for number in range(1, 9)]
    with RunProgress(console, quiet=False, clock=clock) as bar:
        bar.extend(runs)
        carry_out(bar, clock, runs, [1.0, 0.5, 2.5, 1.5, 3.0, 0.5, 1.0, 1.0])
    left = seconds_left(plain(file))
    assert left[0] == pytest.approx(8 * SCENARIO.expected_s, abs=1)
    assert left[3] > left[2], "the third run takes more than twice as long as those before"
    shares = [int(share) for share in re.findall(r"(\d+)%", plain(file))]
    assert shares == sorted(shares)
    assert len(set(shares)) > 3


def test_a_round_that_is_repeated_says_why() -> None:
    file = io.StringIO()
    console = make_console(file=file, width=80)
    clock, runs = Clock(), [planned(1), planned(2)]
    with RunProgress(console, quiet=False, clock=clock) as bar:
        bar.extend(runs)
        carry_out(bar, clock, runs[:1], [1.0])
        bar.repeat([planned(1)], 1.26)
    said = " ".join(file.getvalue().split())
    name = SCENARIO.name
    assert f"{name} round 1 again: other programs used 1.26 cores meanwhile." in said


def test_what_may_take_long_is_said_to_be_the_most_and_never_grows() -> None:
    file = io.StringIO()
    clock = Clock()
    with RunProgress(make_console(file=file, width=80), quiet=False, clock=clock) as bar:
        for number, at_most_s in ((1, 600.0), (2, 900.0)):
            bar.extend([planned(number)], at_most_s)
            carry_out(bar, clock, [planned(number)], [1.0])
    assert "(at most 10 min left)" in file.getvalue()
    left = seconds_left(file.getvalue())
    assert left == sorted(left, reverse=True)
