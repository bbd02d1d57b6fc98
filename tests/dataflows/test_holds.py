"""What engines hold that have no windows and timers of their own; and how workloads are loaded."""

from pathlib import Path

import pytest
from support import items, loading, states
from support.holding import Alarm, Window


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time on the monotonic clock, to be set."""
    now = [100.0]
    monkeypatch.setattr("support.states.time.monotonic", lambda: now[0])
    return now


def first_letter(item: str) -> str:
    return item[0]


def test_a_window_holds_items_by_key_until_its_time_is_over(clock: list[float]) -> None:
    windows = states.Windows(Window(first_letter, 10.0))
    assert windows.due_s is None
    assert [windows.got(item) for item in ("a1", "b1", "a2")] == [[], [], []]
    assert windows.due_s == 110
    clock[0] = 110
    assert windows.woken() == ["a1", "a2", "b1"]
    assert windows.due_s is None
    windows.got("a3")
    assert windows.due_s == 120
    clock[0] = 131
    # What comes when a window is over, closes it first, even if nobody was woken.
    assert windows.got("a4") == ["a3"]
    assert windows.due_s == 140
    assert windows.ended() == ["a4"]


def test_an_alarm_is_asked_for_once_by_key_and_items_pass(clock: list[float]) -> None:
    alarms = states.Alarms(Alarm(first_letter, 10.0))
    told = [alarms.due_s]
    assert alarms.got("a1") == ["a1"]
    clock[0] = 105
    assert alarms.got("a2") == ["a2"]
    assert alarms.got("b1") == ["b1"]
    told.append(alarms.due_s)
    clock[0] = 112
    assert alarms.woken() == []
    told.append(alarms.due_s)
    clock[0] = 120
    assert alarms.woken() == []
    # Once is once.
    assert alarms.got("a3") == ["a3"]
    told.append(alarms.due_s)
    assert told == [None, 110, 115, None]
    assert alarms.ended() == []


def test_a_workload_holds_by_source_or_not_at_all() -> None:
    assert items.hold(8, 0.0, 0.0) is None
    window = items.hold(8, 5.0, 0.0)
    assert isinstance(window, Window)
    assert [window.key((ident, 0, 0)) for ident in (0, 7, 8)] == ["0", "0", "1"]
    assert isinstance(items.hold(8, 0.0, 5.0), Alarm)
    with pytest.raises(ValueError, match="window and alarm"):
        items.hold(8, 1.0, 1.0)


def test_what_is_named_is_called_with_literals_only(tmp_path: Path) -> None:
    file = tmp_path / "a:b" / "own.py"
    file.parent.mkdir()
    file.write_text("def get(a, b=2):\n    return a, b\nflow = 7\n")
    assert loading.load(f"{file}:get(1, b='x')") == (1, "x")
    assert loading.load(f"{file}:flow") == 7
    for text in ("get(open('/'))", "1 + 1", "get.x"):
        with pytest.raises(ValueError):
            loading.load(f"{file}:{text}")
