"""The kernel's interface to its counters and samplers: ``perf_event_open``, see its manual page."""

import ctypes
import os
import platform
import struct

TYPE_SOFTWARE = 1
TYPE_TRACEPOINT = 2
ANY_CPU = -1
THIS_THREAD = 0

_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
"""The system call's number, by architecture."""
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 128
_CLOCK_AT = 92
"""Where ``clockid`` is in the attributes."""


def open_event(
    kind: int,
    number: int,
    flags: int,
    *,
    thread: int = THIS_THREAD,
    cpu: int = ANY_CPU,
    period: int = 0,
    sample: int = 0,
    clock: int = 0,
) -> int:
    """Opens one event; returns its descriptor. ``flags`` are the bits of ``perf_event_attr``.

    Raises ``OSError`` where the kernel does not allow it.
    """
    system_call = _SYSTEM_CALL.get(platform.machine())
    if system_call is None:
        raise OSError(38, "no perf_event_open is known on %s" % platform.machine())
    # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, …
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into(
        "IIQQQQQ", attribute, 0, kind, _ATTRIBUTE_BYTES, number, period, sample, 0, flags
    )
    struct.pack_into("i", attribute, _CLOCK_AT, clock)
    kernel = ctypes.CDLL(None, use_errno=True)
    no_group = -1
    descriptor = kernel.syscall(
        system_call,
        ctypes.create_string_buffer(bytes(attribute), _ATTRIBUTE_BYTES),
        thread,
        cpu,
        no_group,
        _CLOSE_ON_EXEC,
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)
