"""Tests conditions of worker files, such as a line in the log, until they hold."""

import fcntl
import os
import re
import signal
import stat
import termios
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

_COPIED_WITHIN_S, _READ_WITHIN_S = 0.25, 10.0
"""The time in which waitbench writes output to a file, and the time to read it from a pipe."""


class ConditionLaunch(ABC):
    """A launcher of a worker's copies, or of a service, that waits for conditions of them."""

    def __init__(self, tree: CountedTree, outputs: Sequence[Path], command_output: Path) -> None:
        self.tree = tree
        self.command_output = command_output
        self.output_offsets = dict.fromkeys(outputs, 0)
        """The size of each output before the last poke or service start: matches begin there."""
        self._ended, self._ended_s = 0, 0.0
        """The number of commands that have ended, and the monotonic time of the latest end."""
        self._unread_s = 0.0
        """The monotonic time at which their output was last in a pipe."""

    @abstractmethod
    def command(self, words: Sequence[str]) -> Command:
        """Makes a command from a command line. Raises ``Failure`` if the program is missing."""

    @abstractmethod
    def listeners(self) -> Sequence[tuple[int, int]]:
        """Returns the PID and the port of each copy that has been started, or of the service."""

    @abstractmethod
    def require_alive(self, when: str) -> None:
        """Raises ``Failure`` if a copy or the service has ended; its message ends with ``when``."""

    def wait(self, condition: Condition, what: str, *, times_in_a_row: int = 1) -> None:
        """Waits until a condition holds, a momentary one in ``times_in_a_row`` successive tests."""
        when = f"before it was {what}"
        if condition.seconds:
            self.wait_until(time.monotonic() + condition.seconds, lambda: when)
        left = needed = times_in_a_row if condition.is_momentary else 1
        end = time.monotonic() + condition.within
        while True:
            # Before the test, so that an ended process has written all its output.
            self.tree.reap()
            holds = condition.holds(self, len(self.listeners()))
            left = left - 1 if holds else needed
            if left == 0:
                return
            self.require_alive_or_uncopied(when)
            if time.monotonic() > end:
                break
            time.sleep(condition.interval_s)
        raise Failure(f"it was not {what} within {condition.within:g} s{condition.hint(self)}")

    def require_alive_or_uncopied(self, when: str) -> None:
        """Like ``require_alive``, but passes while output of an ended process may be in a pipe."""
        now, ended = time.monotonic(), len(self.tree.codes)
        if ended != self._ended:
            self._ended, self._ended_s = ended, now
        # The others may print all the time.
        if now - self._ended_s < _READ_WITHIN_S and _is_output_unread():
            self._unread_s = now
        if now - max(self._ended_s, self._unread_s) >= _COPIED_WITHIN_S:
            self.require_alive(when)

    def wait_until(self, until_s: float, when: Callable[[], str]) -> None:
        """Waits until a monotonic time. Raises ``Failure`` if the worker or service ends first."""
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
        """Runs a command. Returns its exit code, ``None`` if it took too long, and its output."""
        process = self.tree.start_uncounted(self.command(words), self.command_output)
        read = partial(read_output, self.command_output, f"the command {words[0]}")
        code = self.tree.end_uncounted(process, within_s, read)
        return code, read().decode("utf-8", "replace")

    def count_matches(self, pattern: str) -> int:
        """Counts matches, not lines, as copies that share an output may print into one line."""
        expression, count = re.compile(pattern, re.MULTILINE), 0
        for path, begin in self.output_offsets.items():
            with files.open_file(path) as file:
                file.seek(begin)
                output = file.read(files.MOST_OUTPUT)
            text = "\n".join(output.decode("utf-8", "replace").splitlines())
            count += sum(1 for _ in expression.finditer(text))
        return count

    def match_from_now(self) -> None:
        """Leaves all output so far out of later matches."""
        end_s = time.monotonic() + _COPIED_WITHIN_S
        while _is_output_unread() and time.monotonic() < end_s:
            time.sleep(0.001)
        self.output_offsets = self.sizes()

    @property
    def has_poke_ended(self) -> bool:
        return False

    @property
    def has_output(self) -> bool:
        return any(self.sizes().values())

    def sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self.output_offsets}


def _is_output_unread() -> bool:
    """Returns whether waitbench, which copies output to files, has left some in the pipes."""
    pipes = (it for it in (1, 2) if stat.S_ISFIFO(os.fstat(it).st_mode))
    return any(any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))) for pipe in pipes)


def describe_exit(code: int) -> str:
    """Returns "with exit code 1", or "by SIGKILL", as the end of a sentence."""
    if code >= 0:
        return f"with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"by {names.get(-code, f'signal {-code}')}"
