"""The floor for Python: nothing is lost, whoever waits for whom, and what fails is said."""

import importlib.util
import threading
import time
from types import ModuleType
from typing import Any

import pytest

from waitbench.engines.python import Python


def floor() -> ModuleType:
    """The program that is installed in its environments."""
    path = (Python.own_sources or Python.carrier) / "waitbench_floor" / "__init__.py"  # type: ignore[operator]
    spec = importlib.util.spec_from_file_location("waitbench_floor", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Source:
    """Items that are due one after the other."""

    def __init__(self, items: list[Any], every_s: float) -> None:
        self._items = items
        self._every_s = every_s
        self._due_s = time.monotonic()
        self.is_over = False

    @property
    def wait_s(self) -> float:
        return self._due_s - time.monotonic()

    def next_item(self) -> Any:
        if self.wait_s > 0:
            return None
        if not self._items:
            self.is_over = True
            return None
        self._due_s += self._every_s
        item = self._items.pop(0)
        if isinstance(item, Exception):
            raise item
        return item


class Held:
    """Holds everything until it is woken, or the end."""

    def __init__(self, after_s: float) -> None:
        self.due_s: float | None = time.monotonic() + after_s
        self.items: list[Any] = []

    def got(self, item: Any) -> list[Any]:
        self.items.append(item)
        return []

    def woken(self) -> list[Any]:
        self.due_s = None
        return self.ended()

    def ended(self) -> list[Any]:
        found, self.items = self.items, []
        return found


def run(sources: list[Source], work: Any = str, held: Held | None = None) -> list[Any]:
    written: list[Any] = []
    floor().Dataflow(sources, work, written.append, held).run()
    return written


def test_every_item_of_every_source_is_mapped_and_written() -> None:
    sources = [Source(list(range(at, at + 50)), 0.0005) for at in (0, 50, 100)]
    assert sorted(map(int, run(sources))) == list(range(150))
    assert run([]) == []
    assert run([Source([], 0)]) == []


@pytest.mark.parametrize("after_s", [0.01, 3600])
def test_what_is_held_goes_on_when_it_is_due_and_at_the_end(after_s: float) -> None:
    assert run([Source(list(range(20)), 0.002)], held=Held(after_s)) == list(map(str, range(20)))


def test_what_a_source_or_a_step_raises_ends_the_run() -> None:
    with pytest.raises(OSError, match="gone"):
        run([Source([1, OSError("gone")], 0), Source([2], 0.01)])
    with pytest.raises(ZeroDivisionError):
        run([Source([0], 0)], work=lambda item: 1 / item)
    assert threading.active_count() < 10
