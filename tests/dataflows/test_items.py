"""When items are due, who reads them, what they are, and what a stateful step holds."""

import pytest
from support import items
from support.holding import Alarm, Window


class Clock:
    """A monotonic clock that a test sets."""

    now_ns = 10**12

    def monotonic_ns(self) -> int:
        return self.now_ns


def take(reader: items.Reader) -> items.Item:
    """The next item, which must be due."""
    item = reader.next_item()
    assert item is not None
    return item


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(items, "time", clock)
    return clock


def test_items_are_due_on_a_fixed_schedule_whenever_they_are_fetched(clock: Clock) -> None:
    reader = items.Reader(100, 3, items.Schedule(0.25), seed=1)
    start = clock.now_ns
    assert reader.next_item() is None
    clock.now_ns = start + 249_999_999
    assert reader.next_item() is None
    clock.now_ns = start + 800_000_000  # late: three are due by now
    fetched = [take(reader) for _ in range(3)]
    assert [(ident, due - start) for ident, due, _ in fetched] == [
        (100, 250_000_000),
        (101, 500_000_000),
        (102, 750_000_000),
    ]
    with pytest.raises(StopIteration):
        reader.next_item()


def test_bursts_come_together_after_silence_and_idle_ends_by_itself(clock: Clock) -> None:
    start = clock.now_ns
    burst = items.Reader(0, 4, items.Schedule(1.0, burst=2), seed=1)
    assert burst.next_item() is None
    clock.now_ns = start + 1_000_000_000
    assert [take(burst)[1] - start for _ in range(2)] == [1_000_000_000] * 2
    assert burst.next_item() is None
    idle = items.Reader(0, 0, items.Schedule(idle_s=2.0), seed=1)
    assert idle.next_item() is None
    clock.now_ns += 1_999_999_999
    assert idle.next_item() is None
    clock.now_ns += 1
    with pytest.raises(StopIteration):
        idle.next_item()


def test_the_same_seed_gives_the_same_digits(clock: Clock) -> None:
    def digits(seed: int) -> list[int]:
        reader = items.Reader(7, 50, items.Schedule(), seed)
        return [take(reader)[2] for _ in range(50)]

    assert digits(1) == digits(1) != digits(2)


def test_workers_beyond_the_cap_read_nothing_and_the_others_have_items_of_their_own() -> None:
    build = items.reader_of_each_worker(3, items.Schedule(), seed=1)
    workers = items.MOST_READING_WORKERS + 2
    idents = [ident for index in range(workers) for ident in idents_of(build(index, workers))]
    assert idents == list(range(3 * items.MOST_READING_WORKERS))
    # Nor do they wait.
    waits = items.Schedule(interval_s=1.0, idle_s=5.0)
    assert idents_of(items.reader_of_each_worker(3, waits, 1)(workers - 1, workers)) == []


def idents_of(reader: items.Reader) -> list[int]:
    idents = []
    try:
        while (item := reader.next_item()) is not None:
            idents.append(item[0])
    except StopIteration:
        return idents
    raise AssertionError("everything is due at once")


def test_a_workload_holds_by_source_or_not_at_all() -> None:
    assert items.hold(8, 0.0, 0.0) is None
    window = items.hold(8, 5.0, 0.0)
    assert isinstance(window, Window)
    assert [window.key((ident, 0, 0)) for ident in (0, 7, 8)] == ["0", "0", "1"]
    assert isinstance(items.hold(8, 0.0, 5.0), Alarm)
    with pytest.raises(ValueError, match="window and alarm"):
        items.hold(8, 1.0, 1.0)
