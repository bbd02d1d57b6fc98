"""Windows of processes that are made up."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import cast

from waitbench.features.look import windows
from waitbench.features.look.observe import Observation, Reading, Target, Total

Costs = Iterator[Total | None]
"""The costs of a process in its windows; ``None`` where it ends."""


def target(name: str) -> Target:
    return Target(name, frozenset(), frozenset())


def cost(
    *,
    cores: float = 0.01,
    wakeups: float = 10.0,
    calls: float | None = 20.0,
    memory: int | None = 2**24,
    seconds: float = 1.0,
) -> Total:
    return Total(
        name="in all", cores=cores, wakeups_per_s=wakeups, syscalls_per_s=calls,
        memory_bytes=memory, seconds=seconds, notes=["a note."],
    )  # fmt: skip


class Answers:
    """Answers about processes with given costs, without any time."""

    def __init__(self, set_attribute: Callable[[object, str, object], None]) -> None:
        self._costs: dict[str, Costs] = {}
        self.waited: list[float] = []
        set_attribute(windows, "Observation", self._observation)
        set_attribute(windows, "wait", lambda _, seconds: self.waited.append(seconds))

    def _observation(self, target: Target, _: ExitStack) -> Observation:
        costs = self._costs[target.name]
        state = SimpleNamespace(now=cost(), target=target, has_ended=False, read_before=False)

        def read() -> Reading:
            if state.read_before:
                now = next(costs)
                state.has_ended, state.now = now is None, now or state.now
            state.read_before = True
            return Reading(0.0, frozenset(), {}, {}, {}, {})

        state.read = read
        state.cost = lambda *_, **__: state.now
        return cast(Observation, state)

    def about(self, *costs: Costs, limits: str = "", longest_s: float = 90.0) -> windows.Decision:
        self._costs = {str(number): it for number, it in enumerate(costs)}
        criteria = windows.read_limits(limits.split())
        return windows.judge([*map(target, self._costs)], criteria, longest_s)
