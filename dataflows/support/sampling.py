"""Samples the clock of this process's children: when they ran in user and in kernel mode.

The kernel's software clock (``perf_event_open``, its manual page, ``PERF_COUNT_SW_CPU_CLOCK``),
attached to tasks: it goes on only while a task is on a CPU, interrupts it once in a period, and
writes down what it finds into a ring that is read when all is over. So nothing runs meanwhile but
the interrupts themselves.

A clock of the CPU instead of the tasks would miss much of a worker that parks: its timer and the
worker's fire together, and the worker is back asleep before the next. What is missing of the CPU
that was used when it is attached to tasks is spent in the switch itself, where it is off.

    python -m support.sampling     # samples itself for a moment, or says why it cannot
"""

import fcntl
import mmap
import os
import struct
import sys
import time
from typing import Dict, List, Optional, Tuple

from .perf_event import TYPE_SOFTWARE, open_event

_CPU_CLOCK = 0
_DISABLED, _INHERIT, _USE_CLOCK_ID = 1, 1 << 1, 1 << 25
_WITH_THREAD, _WITH_TIME = 1 << 1, 1 << 2
_ENABLE, _DISABLE = 0x2400, 0x2401
_SAMPLE = 9
_KERNEL_MODE = 1
_ONLINE = "/sys/devices/system/cpu/online"
_PAGE = mmap.PAGESIZE
_DATA_HEAD_AT = 1024
_MOST_PAGES, _FEWEST_PAGES = 16_384, 16
"""Pages of all rings together, at the most, and of one at the least: 24 bytes a sample."""

Samples = Dict[int, Dict[str, List[int]]]
"""By process: the times, ns on the monotonic clock, at which it ran in ``user`` and ``system``."""


class ClockSampler:
    """Samples what this thread starts, from ``start`` to ``stop``."""

    def __init__(self, period_ns: int) -> None:
        """Raises ``OSError`` where the kernel does not allow it."""
        self.period_ns = period_ns
        self._rings: List[Tuple[int, mmap.mmap]] = []
        cpus = online_cpus()
        pages = 1 << (_MOST_PAGES // len(cpus)).bit_length() - 1
        for cpu in cpus:
            # One for each CPU: a ring of inherited events must belong to a single one.
            descriptor = open_event(
                TYPE_SOFTWARE,
                _CPU_CLOCK,
                _DISABLED | _INHERIT | _USE_CLOCK_ID,
                cpu=cpu,
                period=period_ns,
                sample=_WITH_THREAD | _WITH_TIME,
                clock=time.CLOCK_MONOTONIC,
            )
            ring, pages = _map(descriptor, pages)
            self._rings.append((descriptor, ring))

    def start(self) -> None:
        for descriptor, _ in self._rings:
            fcntl.ioctl(descriptor, _ENABLE, 0)

    def stop(self) -> None:
        for descriptor, _ in self._rings:
            fcntl.ioctl(descriptor, _DISABLE, 0)

    def samples(self) -> Optional[Samples]:
        """What was seen; ``None`` where the kernel lost a sample or slowed the sampling down."""
        found: Samples = {}
        for _, ring in self._rings:
            if not _read(ring, found):
                return None
        return found


def online_cpus() -> List[int]:
    """The numbers of the CPUs that are on."""
    with open(_ONLINE, encoding="ascii") as file:
        ranges = file.read().strip().split(",")
    numbers: List[int] = []
    for text in ranges:
        first, _, last = text.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _map(descriptor: int, pages: int) -> Tuple[mmap.mmap, int]:
    """An event's ring, of so many pages or of as many as this user may lock; and their number."""
    while True:
        try:
            return mmap.mmap(descriptor, (1 + pages) * _PAGE), pages
        except PermissionError:
            if pages == _FEWEST_PAGES:
                raise
            pages //= 2


def _read(ring: mmap.mmap, found: Samples) -> bool:
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


def main() -> int:
    """Tries the sampler on this process. Says on stderr why it cannot sample; returns 1 then."""
    try:
        sampler = ClockSampler(1_000_000)
        sampler.start()
        begun = time.process_time()
        while time.process_time() < begun + 0.02:
            pass
        sampler.stop()
    except OSError as error:
        print(error.strerror, file=sys.stderr)
        return 1
    if not (sampler.samples() or {}).get(os.getpid()):
        print("the kernel gives no samples", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
