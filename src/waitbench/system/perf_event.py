"""The kernel's counters and samplers (``perf_event_open``, see its manual page), by ctypes."""

import ctypes
import errno
import os
import platform
import struct
import sys

TYPE_SOFTWARE = 1
TYPE_TRACEPOINT = 2
DISABLED, INHERIT, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
"""Together: counts nothing of the thread that opens it, and all of the programs that it starts.

A fork inherits the event, and an exec enables it. Then every thread and process that the program
starts is counted, wherever it moves to; threads of the opener that execute nothing are not."""
ANY_CPU = -1

_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
"""The system call's number, by architecture."""
_THIS_THREAD = 0
_NO_GROUP = -1
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 128
_CLOCK_AT = 92
"""Where ``clockid`` is in the attributes."""


def open_event(
    kind: int,
    number: int,
    flags: int,
    *,
    cpu: int = ANY_CPU,
    period: int = 0,
    sample: int = 0,
    clock: int = 0,
) -> int:
    """Opens one event of this thread; returns its descriptor. ``flags`` are attribute bits.

    Raises ``OSError`` where the kernel does not allow it.
    """
    system_call = _SYSTEM_CALL.get(platform.machine())
    if system_call is None or sys.platform != "linux":
        where = f"{platform.system()} on {platform.machine()}"
        raise OSError(errno.ENOSYS, f"no perf_event_open is known for {where}")
    # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, …
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into(
        "IIQQQQQ", attribute, 0, kind, _ATTRIBUTE_BYTES, number, period, sample, 0, flags
    )
    struct.pack_into("i", attribute, _CLOCK_AT, clock)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(
        system_call,
        ctypes.create_string_buffer(bytes(attribute), _ATTRIBUTE_BYTES),
        _THIS_THREAD,
        cpu,
        _NO_GROUP,
        _CLOSE_ON_EXEC,
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)
