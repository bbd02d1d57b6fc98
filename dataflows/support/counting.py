"""Counts the system calls of a process, in the kernel: exactly, whoever makes them.

A counting event on the tracepoint that every system call passes (``perf_event_open``, its manual
page), inherited by every thread and process that the counted one starts. The kernel adds one to a
number at each call; nothing is sampled, and nothing else runs.

    python -m support.counting TRACEPOINT     # counts one call of its own, or says why it cannot
"""

import os
import struct
import sys
from typing import List

from .perf_event import TYPE_TRACEPOINT, open_event

_INHERIT = 1 << 1


def open_counter(tracepoint: int) -> int:
    """Starts to count the calls of this thread and of all that it starts from now on.

    Returns the descriptor to read from. Raises ``OSError`` where the kernel does not allow it.
    """
    return open_event(TYPE_TRACEPOINT, tracepoint, _INHERIT)


def read_counter(descriptor: int) -> int:
    """The calls so far, those of threads that still run included. Reading is a call of its own."""
    return int(struct.unpack("Q", os.read(descriptor, 8))[0])


def main(arguments: List[str]) -> int:
    """Tries the counter on this process. Says on stderr why it cannot count; returns 1 then."""
    try:
        counter = open_counter(int(arguments[0]))
        before = read_counter(counter)
        os.getppid()
        counted = read_counter(counter) - before
    except OSError as error:
        print(error.strerror, file=sys.stderr)
        return 1
    if counted < 2:
        print("the kernel counts %d of 2 calls" % counted, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
