"""What a doctored package does besides, while its workers wait: benchmarks/doctored.py puts it in.

One thread in each process. Each load moves what it is named after and as little else as it can:
what need not wake often wakes ten times a second, and works through what is due since, where it
can without the GIL, so that no worker waits for it.
"""

from __future__ import annotations

import os
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence

_NAP_S = 0.1


def start(kind: str, rates: Mapping[str, float], arguments: Sequence[str]) -> None:
    """Starts the load ``kind`` in a thread, if ``arguments`` name a dataflow that mostly waits.

    ``rates`` are by the dataflow's module, per second: a number of wake-ups or of system calls, or
    seconds of CPU.
    """
    rate = rate_of(rates, arguments)
    if rate > 0:
        threading.Thread(target=LOADS[kind], args=(rate,), daemon=True).start()


def rate_of(rates: Mapping[str, float], arguments: Sequence[str]) -> float:
    """The rate for the dataflow that a process is told to run; 0 where it has work to do."""
    for argument in arguments:
        module, _, call = argument.partition(".py:")
        if "long_input=True" in call and "heavy_map=False" in call:
            return rates.get(os.path.basename(module), 0.0)  # noqa: PTH119 -- few imports
    return 0.0


def wake_up(rate: float) -> None:
    """Wakes up so often, and does nothing."""
    due = time.monotonic()
    while True:
        due += 1 / rate
        left = due - time.monotonic()
        if left > 0:
            time.sleep(left)


def call_system(rate: float) -> None:
    """Makes so many system calls, of the cheapest kind."""
    made, begun = 0, time.monotonic()
    while True:
        while made < rate * (time.monotonic() - begun):
            os.getppid()
            made += 1
        time.sleep(_NAP_S)


def use_system_time(share: float) -> None:
    """Uses so much CPU time in the kernel, in few long calls that need little memory."""
    buffer = bytearray(1 << 16)
    random = open("/dev/urandom", "rb", buffering=0)  # noqa: PTH123, SIM115 -- read for ever
    _use(share, lambda: random.readinto(buffer))


def use_user_time(share: float) -> None:
    """Uses so much CPU time outside the kernel."""
    buffer = bytes(1 << 19)
    _use(share, lambda: zlib.crc32(buffer))


def _use(share: float, spend: Callable[[], object]) -> None:
    begun = time.monotonic()
    while True:
        while time.thread_time() < share * (time.monotonic() - begun):
            spend()
        time.sleep(_NAP_S)


LOADS: dict[str, Callable[[float], None]] = {
    "wakeups": wake_up,
    "syscalls": call_system,
    "system": use_system_time,
    "user": use_user_time,
}
