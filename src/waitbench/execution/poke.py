"""One message to a worker: when it is sent, by the command that sends it, and how late it is done.

A command says so by the line ``sent``. One that had that line in a buffer says so as it ends: then
nobody knows when it sent, and lateness counts from its start.
"""

import re
import time
from contextlib import suppress
from pathlib import Path

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure

_SENT = re.compile(rb"^sent\r?$", re.MULTILINE)
_LATENESS = re.compile(rb"^lateness (\S+)$", re.MULTILINE)
_LATEST_S = 1e6
"""A lateness from this on, 11 days, is a mistake."""
_AT_ITS_END_NS = 2_000_000
"""What a buffer holds is written so shortly before the end."""
_MATTERS_NS = 5_000_000
"""A start that takes less than this changes no lateness by more than a gate allows."""
_ENDS_WITHIN_S = 10.0
_MOST_SAID = 200
"""Characters of its last words."""


class Unanswered(Failure):
    """Why a message was not handled within its time limit."""


class Poke:
    """A command that was started beside the worker to send it a message."""

    def __init__(self, tree: CountedTree, command: Command, output: Path) -> None:
        self.tree = tree
        self.output = output
        self.output.write_bytes(b"")
        self.begun_ns = time.monotonic_ns()
        self.process = tree.start_beside(command, output)
        self.sent_ns: int | None = None
        self.ended_ns: int | None = None
        """When these were first seen."""
        self.is_sent_at_end = False
        """Whether its line may have been in a buffer, and its start took long enough to matter."""

    @property
    def has_ended(self) -> bool:
        return self.ended_ns is not None

    @property
    def waits_s(self) -> float:
        """How long ago it has sent, as far as is known."""
        since = self.sent_ns or self.ended_ns
        return (time.monotonic_ns() - since) / 1e9 if since else 0.0

    def look(self) -> None:
        """Looks whether it has sent, or ended. Raises ``Failure`` if it has failed."""
        now_ns = time.monotonic_ns()
        if self.sent_ns is None and _SENT.search(self.output.read_bytes()):
            self.sent_ns = now_ns
        self.tree.reap()
        code = self.tree.ended.get(self.process)
        if code:
            raise Failure(f"the poke ended with exit code {code}")
        if code == 0 and self.ended_ns is None:
            self.ended_ns = now_ns

    def lateness_ns(self, done_ns: int) -> int:
        """How late its message was handled, which was then, or as it says itself.

        Waits for its end. Raises ``Failure``.
        """
        self.look()
        if self.tree.end_beside(self.process, _ENDS_WITHIN_S) is None:
            raise Failure("the poke did not end")
        ended_ns = self.ended_ns or time.monotonic_ns()
        said = self.output.read_bytes()
        if told := _LATENESS.search(said):
            return _ns_of(told[1])
        sent_ns = self.sent_ns or ended_ns
        if not _SENT.search(said):
            sent_ns = self.begun_ns
        elif ended_ns - sent_ns <= _AT_ITS_END_NS:
            self.is_sent_at_end = sent_ns - self.begun_ns > _MATTERS_NS
            sent_ns = self.begun_ns
        return max(0, done_ns - sent_ns)

    def last_words(self) -> str:
        """What is to be said with a failure: its last line but ``sent``."""
        lines = self.output.read_text("utf-8", "replace").splitlines()
        said = [line.strip() for line in lines if line.strip() not in ("", "sent")]
        return f": {said[-1][-_MOST_SAID:]}" if said else ""

    def end(self) -> None:
        """Kills it, if it still runs."""
        self.tree.end_beside(self.process, 0.0)


def _ns_of(told: bytes) -> int:
    """The lateness that a poke printed, in seconds. Raises ``Failure``."""
    with suppress(ValueError):
        if 0 <= (seconds := float(told)) < _LATEST_S:
            return int(seconds * 1e9)
    raise Failure(f"the poke printed a lateness of {told.decode('utf-8', 'replace')!r}")
