"""Waits until conditions of a worker file hold."""

import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure, read_output
from waitbench.model.launch import Condition
from waitbench.system import files
from waitbench.system.tcp import is_listened_to

POLL_INTERVAL_S = 0.02
_COMMAND_INTERVAL_S = 0.3


class ConditionLaunch(ABC):
    """A launcher that waits for conditions: of a worker's copies or of a service."""

    def __init__(self, tree: CountedTree, outputs: Sequence[Path], command_output: Path) -> None:
        self.tree = tree
        self.command_output = command_output
        self.output_offsets = dict.fromkeys(outputs, 0)
        """Sizes of its output files when output began to count."""

    @abstractmethod
    def command(self, words: Sequence[str]) -> Command:
        """Makes a command of a command line. Raises ``Failure`` without the program."""

    @abstractmethod
    def listeners(self) -> Sequence[tuple[int, int]]:
        """Returns process and port of each command that it has started."""

    @abstractmethod
    def require_alive(self, when: str) -> None:
        """Raises ``Failure`` if it has ended."""

    def wait(self, condition: Condition, what: str, *, calm: int = 1) -> None:
        """Waits for a condition, a command ``calm`` times running. Raises ``Failure``."""
        seconds, when = condition.seconds, f"before it was {what}"
        if seconds is not None:
            if seconds > 0:
                self.wait_until(time.monotonic() + seconds, lambda: when)
            return
        left = needed = calm if condition.command else 1
        end = time.monotonic() + condition.within
        while True:
            # First, so that the whole output of an ended process is there.
            self.tree.reap()
            holds = self.holds(condition, len(self.listeners()))
            left = left - 1 if holds else needed
            if left == 0:
                return
            self.require_alive(when)
            if time.monotonic() > end:
                break
            time.sleep(_COMMAND_INTERVAL_S if condition.command else POLL_INTERVAL_S)
        raise Failure(f"it was not {what} within {condition.within:g} s{self.hint(condition)}")

    def hint(self, condition: Condition) -> str:
        """Explains why a condition may not have held in time, to end a sentence."""
        if condition.log is None:
            return ""
        buffers = "" if any(self.sizes().values()) else ". Does it buffer its output?"
        return f": no line of its output matches {condition.log!r}{buffers}"

    def wait_until(self, until_s: float, when: Callable[[], str]) -> None:
        """Raises ``Failure`` if it ends before."""
        while True:
            self.tree.reap()
            self.require_alive(when())
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            self.tree.wait(left_s)

    def holds(self, condition: Condition, copies: int = 1) -> bool:
        """Checks for a log line or an open port of each copy, or a command's exit code of 0."""
        if condition.log is not None:
            return self._count_logged(condition.log) >= copies
        if condition.port:
            return all(is_listened_to(port, pid) for pid, port in self.listeners()[:copies])
        return self.run_command(condition.command, condition.within)[0] == 0

    def run_command(self, words: Sequence[str], within_s: float) -> tuple[int | None, str]:
        """Returns the exit code of a command, ``None`` if it took too long, and its output."""
        process = self.tree.start_beside(self.command(words), self.command_output)
        read = partial(read_output, self.command_output, f"the command {words[0]}")
        code = self.tree.end_beside(process, within_s, read)
        return code, read().decode("utf-8", "replace")

    def _count_logged(self, pattern: str) -> int:
        """Counts matches in the output: two copies that share it may print into one line."""
        expression, count = re.compile(pattern, re.MULTILINE), 0
        for path, begin in self.output_offsets.items():
            with files.open_file(path) as file:
                file.seek(begin)
                output = file.read(files.MOST_OUTPUT)
            text = "\n".join(output.decode("utf-8", "replace").splitlines())
            count += sum(1 for _ in expression.finditer(text))
        return count

    def sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self.output_offsets}


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"by {names.get(-code, f'signal {-code}')}"
