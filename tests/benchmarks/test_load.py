"""What a doctored package does besides."""

import os
import zlib
from collections.abc import Callable

import pytest

from benchmarks import load


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
