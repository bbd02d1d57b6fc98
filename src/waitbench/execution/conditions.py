"""Waits until conditions of a worker file hold for what a launcher has started."""

import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure
from waitbench.system.ports import is_listened_to

LOOK_EVERY_S = 0.02
_CALM_S = 0.3
"""Between two tries of a command that is to exit with 0."""


class ConditionLaunch(ABC):
    """A launcher of commands that it waits for: a worker's copies, or a service."""

    watched: tuple[int, ...] = ()
    """Descriptors that end its sleep, too, when they can be read."""

    def __init__(self, tree: CountedTree, outputs: Sequence[Path], called: Path) -> None:
        self.tree = tree
        self.called = called
        """The file to which commands write that are to exit with 0."""
        self.seen = dict.fromkeys(outputs, 0)
        """How much was written to each file of its output before what counts of it now."""

    @abstractmethod
    def command(self, words: Sequence[str]) -> Command:
        """What a command line of its table becomes. Raises ``Failure`` without the program."""

    @abstractmethod
    def listeners(self) -> Sequence[tuple[int, int]]:
        """The process and the port of each command that it has started."""

    @abstractmethod
    def require_alive(self, when: str) -> None:
        """Raises ``Failure`` where it has ended."""

    def wait(self, condition: Mapping[str, Any], what: str, *, calm: int = 1) -> None:
        """Until a condition holds; a command so many times running. Raises ``Failure``."""
        if condition["seconds"] == 0.0:
            return
        if condition["seconds"] is not None:
            self.sit(time.monotonic() + condition["seconds"], lambda: f"before it was {what}")
            return
        left = needed = calm if condition["command"] else 1
        end = time.monotonic() + condition["within"]
        while True:
            # First, so that of what has ended all is there to be looked at.
            self.tree.reap()
            holds = self.holds(condition, len(self.listeners()))
            left = left - 1 if holds else needed
            if left == 0:
                return
            self.require_alive(f"before it was {what}")
            if time.monotonic() > end:
                break
            time.sleep(_CALM_S if condition["command"] else LOOK_EVERY_S)
        raise Failure(f"it was not {what} within {condition['within']:g} s{self.hint(condition)}")

    def hint(self, condition: Mapping[str, Any]) -> str:
        """What a condition lacks that did not hold in time, to end a sentence."""
        if condition["log"] is None:
            return ""
        buffers = "" if any(self.sizes().values()) else ". Does it buffer its output?"
        return f": no line of its output matches {condition['log']!r}{buffers}"

    def sit(self, until_s: float, when: Callable[[], str]) -> None:
        """Blocks until then. Raises ``Failure`` if it ends meanwhile."""
        while True:
            self.tree.reap()
            self.require_alive(when())
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            self.tree.wait(left_s, *self.watched)

    def holds(self, condition: Mapping[str, Any], copies: int = 1) -> bool:
        """Whether so many lines are there, ports are listened to, or a command exits with 0."""
        if condition["log"] is not None:
            return self._count_logged(condition["log"]) >= copies
        if condition["port"]:
            return all(is_listened_to(port, pid) for pid, port in self.listeners()[:copies])
        return self.call(condition["command"], condition["within"])[0] == 0

    def call(self, words: Sequence[str], within_s: float) -> tuple[int | None, str]:
        """The exit code of a command, and what it printed; ``None`` where it took too long."""
        process = self.tree.start_beside(self.command(words), self.called)
        code = self.tree.end_beside(process, within_s)
        return code, self.called.read_text("utf-8", "replace")

    def _count_logged(self, pattern: str) -> int:
        """How often its output matches: two copies that share it may print into one line."""
        expression, count = re.compile(pattern, re.MULTILINE), 0
        for path, begin in self.seen.items():
            with path.open("rb") as file:
                file.seek(begin)
                text = "\n".join(file.read().decode("utf-8", "replace").splitlines())
            count += sum(1 for _ in expression.finditer(text))
        return count

    def sizes(self) -> dict[Path, int]:
        """How much was written to each file of its output so far."""
        return {path: path.stat().st_size for path in self.seen}


def describe_exit(code: int) -> str:
    """Describes an exit code, to end a sentence."""
    if code >= 0:
        return f"with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"by {names.get(-code, f'signal {-code}')}"
