"""What a doctored package does besides."""

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from benchmarks import load
from waitbench import families


class OverError(Exception):
    """Ends a load, which has no end."""


class Clock:
    """Time that passes only by sleeping and by spending, for ``load.time``."""

    def __init__(self, lasts_s: float) -> None:
        self.now_s = self.used_s = 0.0
        self.naps = 0
        self.lasts_s = lasts_s

    def monotonic(self) -> float:
        return self.now_s

    def thread_time(self) -> float:
        return self.used_s

    def sleep(self, duration_s: float) -> None:
        self.naps += 1
        self.now_s += duration_s
        if self.now_s > self.lasts_s:
            raise OverError

    def spend(self, *_arguments: object) -> None:
        """Something that uses a millisecond of CPU."""
        self.now_s += 0.001
        self.used_s += 0.001


def carry_out(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[float], None], rate: float
) -> Clock:
    """Carries a load out for ten seconds of its clock."""
    clock = Clock(lasts_s=10.0)
    monkeypatch.setattr(load, "time", clock)
    with pytest.raises(OverError):
        start(rate)
    return clock


def test_only_scenarios_that_mostly_wait_get_a_load() -> None:
    rates = {"partitioned": 1.0, "dynamic": 2.0}
    defaults = [s for s in families.ALL if s.by_default and s.family.name in rates]
    loaded = {
        scenario.name: load.rate_of(rates, ["run.py", scenario.import_string, "-w", "1"])
        for scenario in defaults
    }
    assert {name: rate for name, rate in loaded.items() if rate} == {
        "partitioned-long-input": 1.0,
        "dynamic-long-input": 2.0,
    }


def test_it_wakes_as_often_as_it_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert carry_out(monkeypatch, load.wake_up, 150.0).naps == pytest.approx(1500, abs=2)


def test_it_calls_as_often_as_it_was_told_and_wakes_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    monkeypatch.setattr(os, "getppid", lambda: calls.append(None))
    clock = carry_out(monkeypatch, load.call_system, 300.0)
    assert len(calls) == pytest.approx(3000, rel=0.02)
    assert clock.naps == pytest.approx(100, abs=2)


def test_it_uses_the_cpu_that_it_was_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lasts_s=10.0)
    monkeypatch.setattr(load, "time", clock)
    monkeypatch.setattr(zlib, "crc32", clock.spend)
    with pytest.raises(OverError):
        load.use_user_time(0.05)
    assert clock.used_s == pytest.approx(0.5, rel=0.02)
    assert clock.naps < 110


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """A clock of the load's, in a process in which nothing has begun."""
    monkeypatch.setattr(load, "_when_items", [])
    clock = Clock(lasts_s=1e9)
    monkeypatch.setattr(load, "time", clock)
    yield clock


def test_items_that_come_together_are_held_back_together(items: Clock) -> None:
    load.hold_back()
    (came,) = load._when_items
    items.now_s = 5.0
    came(), came()
    assert items.now_s == pytest.approx(5.1)
    items.now_s = 5.225
    came()
    assert items.now_s == pytest.approx(5.325)


def test_a_rare_spin_is_in_a_fifth_of_the_runs() -> None:
    chosen = sum(load.is_chosen(str(number), "77") for number in range(10_000))
    assert chosen == pytest.approx(2000, rel=0.1)
    assert load.is_chosen(*load._parent()) is load.is_chosen(*load._parent())


@pytest.mark.parametrize("daemon", [False, True])
def test_a_child_burns_a_fifth_of_a_core_and_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch, *, daemon: bool
) -> None:
    """Its code is run here, with a clock on which half a minute is no time."""
    clock = Clock(lasts_s=60.0)
    made = SimpleNamespace(
        monotonic=clock.monotonic, sleep=clock.sleep, process_time=clock.thread_time
    )
    forks: list[str] = []
    monkeypatch.setattr(os, "fork", lambda: forks.append("fork"))
    monkeypatch.setattr(os, "setsid", lambda: forks.append("setsid"))
    monkeypatch.setitem(sys.modules, "time", made)
    names = {"sum": lambda _numbers: clock.spend()}
    exec((load._DAEMONISE if daemon else "") + load._burning(0.2), names)
    assert clock.now_s == pytest.approx(30, abs=0.1)
    assert clock.used_s == pytest.approx(6, abs=0.1)
    assert forks == (["fork", "setsid", "fork"] if daemon else [])


def test_a_start_uses_a_second(monkeypatch: pytest.MonkeyPatch, items: Clock) -> None:
    monkeypatch.setattr(zlib, "crc32", items.spend)
    load.use_at_start()
    assert items.used_s == pytest.approx(1.0, rel=0.01)


def test_growth_ends_at_a_gigabyte(monkeypatch: pytest.MonkeyPatch, items: Clock) -> None:
    monkeypatch.setattr(load, "_CHUNK", 1)
    monkeypatch.setattr(load, "_in_thread", lambda target: target())
    load.grow()
    assert items.now_s == pytest.approx(20.0)


def test_a_worker_is_idle_until_an_item_and_busy_for_a_while_behind_it(
    monkeypatch: pytest.MonkeyPatch, items: Clock
) -> None:
    waits = iter([None])

    class Came:
        set = clear = lambda self: None

        def wait(self) -> None:
            if next(waits, "over"):
                raise OverError
            note()

    monkeypatch.setattr(zlib, "crc32", items.spend)
    monkeypatch.setattr("threading.Event", Came)
    started: list[Callable[[], None]] = []
    monkeypatch.setattr(load, "_in_thread", started.append)
    load.be_busy_after_items()
    (note,) = load._when_items
    with pytest.raises(OverError):
        started[0]()
    assert items.used_s == pytest.approx(0.3, rel=0.01)


def test_a_worker_spins_from_three_seconds_of_silence_on(
    monkeypatch: pytest.MonkeyPatch, items: Clock
) -> None:
    started: list[Callable[[], None]] = []
    monkeypatch.setattr(load, "_in_thread", started.append)
    load.spin_in_silence()
    (note,) = load._when_items
    begun: list[float] = []

    def spend(*_arguments: object) -> None:
        begun.append(items.now_s)
        if len(begun) == 2:
            raise OverError
        items.now_s = 10.0
        note()

    monkeypatch.setattr(zlib, "crc32", spend)
    with pytest.raises(OverError):
        started[0]()
    assert begun == pytest.approx([3.0, 13.0])


def test_every_regression_begins_once() -> None:
    assert len(load.REGRESSIONS) == len(set(load.REGRESSIONS)) == 15
