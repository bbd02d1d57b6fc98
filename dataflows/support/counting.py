"""Counts the system calls of a process, in the kernel: exactly, whoever makes them.

A counting event on the tracepoint that every system call passes (``perf_event_open``, its manual
page), inherited by every thread and process that the counted one starts. The kernel adds one to a
number at each call; nothing is sampled, and nothing else runs.

    python counting.py TRACEPOINT     # counts one call of its own, or says why it cannot
"""

import ctypes
import os
import platform
import struct
import sys
from typing import List

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
"""The system call's number, by architecture."""
_TYPE_TRACEPOINT = 2
_INHERIT = 1 << 1
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 128


def open_counter(tracepoint: int) -> int:
    """Starts to count the calls of this thread and of all that it starts from now on.

    Returns the descriptor to read from. Raises ``OSError`` where the kernel does not allow it.
    """
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise OSError(38, "no counter is known on %s" % platform.machine())
    # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, …
    attribute = struct.pack(
        "IIQQQQQ", _TYPE_TRACEPOINT, _ATTRIBUTE_BYTES, tracepoint, 0, 0, 0, _INHERIT
    ).ljust(_ATTRIBUTE_BYTES, b"\0")
    kernel = ctypes.CDLL(None, use_errno=True)
    this_thread, any_cpu, no_group = 0, -1, -1
    descriptor = kernel.syscall(
        number,
        ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES),
        this_thread,
        any_cpu,
        no_group,
        _CLOSE_ON_EXEC,
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)


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
