"""Pokes: commands that send a worker one message, and the lateness of its handling.

A command prints ``sent`` when it has sent the message. If a buffer may have held that line until
the command ended, lateness counts from the command's start.
"""

import re
import time
from contextlib import suppress
from pathlib import Path

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure, read_output

_SENT = re.compile(rb"^sent\r?$", re.MULTILINE)
_LATENESS = re.compile(rb"^lateness (\S+)$", re.MULTILINE)
_MAX_LATENESS_S = 1e6
"""The greatest lateness that a command may print: 11 days."""
_FLUSH_NS = 2_000_000
"""A line printed in the last 2 ms of a command may have been in a buffer."""
_MATERIAL_NS = 5_000_000
"""The rise of lateness that a gate allows: the time of a shorter start-up does not matter."""
_ENDS_WITHIN_S = 10.0
_MAX_MESSAGE_CHARS = 200


class Message:
    """A message to the worker, sent by a command that runs beside the worker."""

    def __init__(self, tree: CountedTree, command: Command, output: Path) -> None:
        self.tree = tree
        self.output = output
        self.begun_ns = time.monotonic_ns()
        self.process = tree.start_uncounted(command, output)
        self.sent_ns: int | None = None
        self.ended_ns: int | None = None
        self.is_sent_at_end = False
        """Whether ``sent`` may have been in a buffer, and the start-up took a material time."""

    @property
    def since_sent_s(self) -> float:
        """Returns the time since the message was sent, or since the command ended; else 0."""
        since = self.sent_ns or self.ended_ns
        return (time.monotonic_ns() - since) / 1e9 if since else 0.0

    def poll(self) -> None:
        """Records when the command prints ``sent`` and ends. Raises ``Failure`` if it fails."""
        now_ns = time.monotonic_ns()
        if self.sent_ns is None and _SENT.search(read_output(self.output, "the poke")):
            self.sent_ns = now_ns
        self.tree.reap()
        code = self.tree.exit_codes.get(self.process)
        if code:
            raise Failure(f"the poke ended with exit code {code}")
        if code == 0 and self.ended_ns is None:
            self.ended_ns = now_ns

    def lateness_ns(self, done_ns: int) -> int:
        """Waits for the command's end; returns the lateness at ``done_ns``. Raises ``Failure``."""
        self.poll()
        if self.tree.end_uncounted(self.process, _ENDS_WITHIN_S) is None:
            raise Failure("the poke did not end")
        self.poll()  # raises if it has failed since
        ended_ns = self.ended_ns or time.monotonic_ns()
        output = read_output(self.output, "the poke")
        if printed := _LATENESS.search(output):
            with suppress(ValueError):
                if 0 <= (seconds := float(printed[1])) < _MAX_LATENESS_S:
                    return int(seconds * 1e9)
            text = printed[1].decode("utf-8", "replace")
            raise Failure(f"the poke printed a lateness of {text!r}, which is not a time in s")
        sent_ns = self.sent_ns or self.begun_ns
        if self.sent_ns and ended_ns - sent_ns <= _FLUSH_NS:
            self.is_sent_at_end = sent_ns - self.begun_ns > _MATERIAL_NS
            sent_ns = self.begun_ns
        return max(0, done_ns - sent_ns)

    def last_words(self) -> str:
        """Ends a sentence with the last line of the output other than ``sent``."""
        try:
            output = read_output(self.output, "the poke")
        except Failure:  # the sentence itself reports it
            return ""
        lines = output.decode("utf-8", "replace").splitlines()
        messages = [line.strip() for line in lines if line.strip() not in ("", "sent")]
        return f": {messages[-1][-_MAX_MESSAGE_CHARS:]}" if messages else ""

    def kill(self) -> None:
        self.tree.end_uncounted(self.process, 0.0)
