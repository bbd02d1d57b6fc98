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
from waitbench.model.conditions import Condition
from waitbench.system import files
from waitbench.system.tcp import is_listened_to


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
        """Waits for a condition, a momentary one ``calm`` times running. Raises ``Failure``."""
        when = f"before it was {what}"
        if condition.seconds:
            self.wait_until(time.monotonic() + condition.seconds, lambda: when)
        left = needed = calm if condition.is_momentary else 1
        end = time.monotonic() + condition.within
        while True:
            # First, so that the whole output of an ended process is there.
            self.tree.reap()
            holds = condition.holds(self, len(self.listeners()))
            left = left - 1 if holds else needed
            if left == 0:
                return
            self.require_alive(when)
            if time.monotonic() > end:
                break
            time.sleep(condition.interval_s)
        raise Failure(f"it was not {what} within {condition.within:g} s{condition.hint(self)}")

    def wait_until(self, until_s: float, when: Callable[[], str]) -> None:
        """Raises ``Failure`` if it ends before."""
        while True:
            self.tree.reap()
            self.require_alive(when())
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            self.tree.wait(left_s)

    def are_listening(self, copies: int) -> bool:
        return all(is_listened_to(port, pid) for pid, port in self.listeners()[:copies])

    def succeeds(self, words: Sequence[str], within_s: float) -> bool:
        return self.run_command(words, within_s)[0] == 0

    def run_command(self, words: Sequence[str], within_s: float) -> tuple[int | None, str]:
        """Returns the exit code of a command, ``None`` if it took too long, and its output."""
        process = self.tree.start_beside(self.command(words), self.command_output)
        read = partial(read_output, self.command_output, f"the command {words[0]}")
        code = self.tree.end_beside(process, within_s, read)
        return code, read().decode("utf-8", "replace")

    def count_matches(self, pattern: str) -> int:
        """Counts matches in the output: two copies that share it may print into one line."""
        expression, count = re.compile(pattern, re.MULTILINE), 0
        for path, begin in self.output_offsets.items():
            with files.open_file(path) as file:
                file.seek(begin)
                output = file.read(files.MOST_OUTPUT)
            text = "\n".join(output.decode("utf-8", "replace").splitlines())
            count += sum(1 for _ in expression.finditer(text))
        return count

    @property
    def has_poke_ended(self) -> bool:
        return False

    @property
    def has_output(self) -> bool:
        return any(self.sizes().values())

    def sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self.output_offsets}


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"by {names.get(-code, f'signal {-code}')}"
