"""Samples the clock of programs from outside: when they ran in user and in kernel mode.

The kernel's software clock (``perf_event_open``, its manual page, ``PERF_COUNT_SW_CPU_CLOCK``),
attached to tasks: it goes on only while a task is on a CPU, interrupts it once in a period, and
writes down what it finds into a ring that is read when all is over. So nothing runs meanwhile but
the interrupts themselves.

A clock of the CPU instead of the tasks would miss much of a worker that parks: its timer and the
worker's fire together, and the worker is back asleep before the next. What is missing of the CPU
that was used when it is attached to tasks is spent in the switch itself, where it is off.
"""

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from waitbench.system.counters import (
    DISABLED,
    ENABLE_ON_EXEC,
    INHERIT,
    TYPE_SOFTWARE,
    open_event,
)

_CPU_CLOCK = 0
_USE_CLOCK_ID = 1 << 25
_WITH_THREAD, _WITH_TIME = 1 << 1, 1 << 2
_ENABLE, _DISABLE = 0x2400, 0x2401
_SAMPLE = 9
_KERNEL_MODE = 1
_ONLINE = Path("/sys/devices/system/cpu/online")
_PAGE = mmap.PAGESIZE
_DATA_HEAD_AT = 1024
_MOST_PAGES, _FEWEST_PAGES = 16_384, 16
"""Pages of all rings together, at the most, and of one at the least: 24 bytes a sample."""

Samples = Mapping[int, Mapping[str, list[int]]]
"""By process: the times, ns on the monotonic clock, at which it ran in ``user`` and ``system``."""


class ClockSampler:
    """Samples the programs that this thread starts in the block, and all that these start."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self.samples: Samples | None = None
        """What was seen, after the block.

        ``None`` where the kernel lost a sample or slowed the sampling down."""
        self._rings: list[tuple[int, mmap.mmap]] = []

    def __enter__(self) -> "ClockSampler":
        """Raises ``OSError`` where the kernel does not allow it."""
        cpus = online_cpus()
        pages = 1 << (_MOST_PAGES // len(cpus)).bit_length() - 1
        try:
            for cpu in cpus:
                # One for each CPU: a ring of inherited events must belong to a single one.
                descriptor = open_event(
                    TYPE_SOFTWARE,
                    _CPU_CLOCK,
                    DISABLED | INHERIT | ENABLE_ON_EXEC | _USE_CLOCK_ID,
                    cpu=cpu,
                    period=self.period_ns,
                    sample=_WITH_THREAD | _WITH_TIME,
                    clock=time.CLOCK_MONOTONIC,
                )
                ring, pages = _map(descriptor, pages)
                self._rings.append((descriptor, ring))
        except OSError:
            self._close()
            raise
        return self

    def sample_this_thread(self) -> None:
        """From now on samples the thread that entered the block, too."""
        for descriptor, _ in self._rings:
            fcntl.ioctl(descriptor, _ENABLE, 0)

    def __exit__(self, *_error: object) -> None:
        for descriptor, _ in self._rings:
            fcntl.ioctl(descriptor, _DISABLE, 0)
        found: dict[int, dict[str, list[int]]] = {}
        complete = [_read(ring, found) for _, ring in self._rings]
        self.samples = found if all(complete) else None
        self._close()

    def _close(self) -> None:
        while self._rings:
            descriptor, ring = self._rings.pop()
            ring.close()
            os.close(descriptor)


def online_cpus() -> list[int]:
    """The numbers of the CPUs that are on."""
    numbers: list[int] = []
    for text in _ONLINE.read_text("ascii").strip().split(","):
        first, _, last = text.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _map(descriptor: int, pages: int) -> tuple[mmap.mmap, int]:
    """An event's ring, of so many pages or of as many as this user may lock; and their number.

    Closes the event if it can have none. Raises ``OSError`` then.
    """
    while True:
        try:
            return mmap.mmap(descriptor, (1 + pages) * _PAGE), pages
        except OSError as error:
            if not isinstance(error, PermissionError) or pages == _FEWEST_PAGES:
                os.close(descriptor)
                raise
            pages //= 2


def _read(ring: mmap.mmap, found: dict[int, dict[str, list[int]]]) -> bool:
    """Adds what a ring holds; returns whether it holds samples and nothing else."""
    head = struct.unpack_from("Q", ring, _DATA_HEAD_AT)[0]
    position = 0
    # What no longer fits is dropped, and the record that would say so needs room too.
    if head > len(ring) - 2 * _PAGE:
        return False
    while position < head:
        kind, mode, size = struct.unpack_from("IHH", ring, _PAGE + position)
        if kind != _SAMPLE:  # lost, throttled, or what nobody asked for
            return False
        process, _, time_ns = struct.unpack_from("IIQ", ring, _PAGE + position + 8)
        of_process = found.setdefault(process, {"user": [], "system": []})
        of_process["system" if mode & 7 == _KERNEL_MODE else "user"].append(time_ns)
        position += size
    return True
