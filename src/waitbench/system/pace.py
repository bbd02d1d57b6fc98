"""The pace of the CPUs that a run's workers are on: how long a fixed piece of work takes there.

On shared machines a CPU gets faster and slower several times a second, as a neighbour on the same
core comes and goes, and what a worker's wake-up costs changes with it by half. A thread follows the
workers from CPU to CPU and times a checksum of 8 KiB there, a hundred times a second. Of two in a
row after a first that fetches the memory the shorter counts, so that neither what the worker leaves
in the cache nor an interruption does.
"""

import math
import os
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_EVERY_S = 0.01
_FEWEST = 10
"""With fewer readings there is no figure."""
_WORK = bytes(range(256)) * 32
_CPU_FIELD = 36
"""Of ``/proc/<pid>/stat``, after the name: the CPU that a thread ran on last (proc(5), 39th)."""


class PaceFollower:
    """Follows the workers of one run, from when it begins until it ends."""

    def __init__(self) -> None:
        self._readings_ns: list[int] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, process: int) -> None:
        """Follows what is started by what a process starts, as hyperfine starts a launcher."""
        # Elsewhere than on Linux a thread cannot choose its CPU.
        if hasattr(os, "sched_setaffinity"):
            self._thread = threading.Thread(target=self._follow, args=(process,), daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stops; harmless where nothing began."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def observed(self) -> dict[str, float]:
        """The geometric mean of the readings, by its key; empty where these are too few."""
        readings = self._readings_ns
        if len(readings) < _FEWEST:
            return {}
        mean = math.fsum(math.log(max(one, 1)) for one in readings) / len(readings)
        return {"machine_pace": math.exp(mean) / 1e9}

    def _follow(self, process: int) -> None:
        workers: Sequence[int] = ()
        turn = 0
        while not self._over.wait(_EVERY_S):
            turn += 1
            if not workers:
                workers = [one for launcher in _children(process) for one in _children(launcher)]
                continue
            # A worker that is gone is not looked for: the run ends.
            with suppress(OSError, ValueError, IndexError):
                cpu = _cpu_of(workers[turn % len(workers)])
                os.sched_setaffinity(0, {cpu})
                self._readings_ns.append(_duration_ns())


def _duration_ns() -> int:
    now = time.perf_counter_ns
    zlib.crc32(_WORK)
    begun = now()
    zlib.crc32(_WORK)
    between = now()
    zlib.crc32(_WORK)
    return min(between - begun, now() - between)


def _cpu_of(process: int) -> int:
    stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    return int(stat.rsplit(")", 1)[1].split()[_CPU_FIELD])


def _children(process: int) -> list[int]:
    found: list[int] = []
    # Threads come and go, and so do processes; not every kernel lists them.
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found
