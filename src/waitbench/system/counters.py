"""Exact counters of a program and all its descendants, kept by the kernel.

They are attached to the process that becomes the program: exec enables them. A reading is the sum
over all descendants, running and ended, even those that called setsid.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Mapping

SOFTWARE = 1
TRACEPOINT = 2
DISABLED, INHERIT, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
"""Together they count a process from its exec on, and all that it starts then. ``INHERIT`` alone
counts it at once."""

_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
_THIS_THREAD, _ANY_CPU, _NO_GROUP, _CLOSE_ON_EXEC = 0, -1, -1, 8
_ATTRIBUTE_BYTES = 128


def open_event(kind: int, number: int, flags: int, *, process: int = _THIS_THREAD) -> int:
    """Opens a counter and returns its descriptor. Raises ``OSError`` if the kernel refuses."""
    system_call = _SYSTEM_CALL.get(os.uname().machine)
    if system_call is None:
        raise OSError(errno.ENOSYS, f"no perf_event_open is known for {os.uname().machine}")
    # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, …
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into("IIQQQQQ", attribute, 0, kind, _ATTRIBUTE_BYTES, number, 0, 0, 0, flags)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(
        system_call,
        ctypes.create_string_buffer(bytes(attribute), _ATTRIBUTE_BYTES),
        process,
        _ANY_CPU,
        _NO_GROUP,
        _CLOSE_ON_EXEC,
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)


TASK_CLOCK = (SOFTWARE, 1)
"""The event whose count is CPU time in ns."""
CONTEXT_SWITCHES = (SOFTWARE, 3)


class TreeCounters:
    """Counters of a process and of all that it starts, by default from its exec on."""

    def __init__(
        self,
        events: Mapping[str, tuple[int, int]],
        process: int,
        flags: int = DISABLED | INHERIT | ENABLE_ON_EXEC,
    ) -> None:
        """Opens a counter for each event, by name. Raises ``OSError`` if the kernel refuses one."""
        self._descriptors: dict[str, int] = {}
        try:
            for name, (kind, number) in events.items():
                self._descriptors[name] = open_event(kind, number, flags, process=process)
        except OSError:
            self.close()
            raise

    def reading(self) -> dict[str, int]:
        """Returns the counts so far, by name; callable from any thread."""
        return {name: read_counter(number) for name, number in self._descriptors.items()}

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])


def read_counter(descriptor: int) -> int:
    (count,) = struct.unpack("Q", os.read(descriptor, 8))
    return int(count)
