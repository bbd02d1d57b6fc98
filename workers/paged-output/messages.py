"""What both writers share: what a message may be, and whose process a writer belongs to."""

import os
from typing import TypeAlias

Message: TypeAlias = str | bytes | bytearray | memoryview


def as_bytes(message: Message, encoding: str) -> bytes:
    """The message's own bytes, which nobody can change afterwards.

    Raises ``TypeError`` for anything that is neither text nor bytes.
    """
    if isinstance(message, bytes):
        return message
    if isinstance(message, str):
        return message.encode(encoding)
    if isinstance(message, (bytearray, memoryview)):
        return bytes(message)
    raise TypeError(f"a message is text or bytes, not {type(message).__name__}")


class OneProcess:
    """Tells a process from those that are forked from it.

    A forked writer has no sending thread, a lock that may be held for ever, and a connection whose
    acknowledgements another process reads.
    """

    _forks = 0

    def __init__(self) -> None:
        self._born_after = OneProcess._forks

    def check(self) -> None:
        """Raises ``RuntimeError`` in another process than the one that made this."""
        if self._born_after != OneProcess._forks:
            raise RuntimeError("the writer was made before a fork: this process needs its own")

    @staticmethod
    def count_fork() -> None:
        OneProcess._forks += 1


os.register_at_fork(after_in_child=OneProcess.count_fork)
