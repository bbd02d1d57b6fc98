"""An idle worker with regressions: worker.py VARIANT WINDOW_S.

The worker wakes up every 10 ms, computes for about half a millisecond, and checks for a file
``job``. ``VARIANTS`` has the differences from ``base``. The worker ends at SIGTERM.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

STEPS = 5_000
"""The steps of a computation: about 0.5 ms in CPython 3.11, if a step takes 0.1 µs."""
RARE = 0.2
SPIN_AFTER_S = 3.0
CHILD_EACH_S = 0.5
CHILD_COMPUTATIONS = 40
BURST_BEFORE_END_S = 0.5
BURST_COMPUTATIONS = 600


class Variant(NamedTuple):
    """The behaviour of a worker."""

    load: float = 1.0
    """The computations after a wake-up, as a share of those of the baseline."""
    rare_load: float | None = None
    """The load in one run of five."""
    period_s: float = 0.01
    spins: bool = False
    """Whether the worker stops sleeping after 3 s."""
    bursts: bool = False
    """Whether the worker computes for 0.3 s, half a second before ``WINDOW_S`` are over."""
    forks: bool = False
    """Whether every half second a child computes for 20 ms, and the worker waits for it."""
    late_s: float = 0.0
    """The delay of handling a job."""
    memory_bytes: int = 0


VARIANTS = {
    "base": Variant(),
    # Computations are 60 to 80 % of the worker's CPU.
    "plus-10": Variant(load=1.12),
    "plus-25": Variant(load=1.4),
    "double": Variant(load=2.6),
    "rare-double": Variant(rare_load=2.6),
    "late-spin": Variant(spins=True),
    "end-burst": Variant(bursts=True),
    "reaped-child": Variant(forks=True),
    # Fewer computations compensate for the CPU that the wake-ups cost.
    "wake-ups": Variant(load=0.76, period_s=0.005),
    "late-60ms": Variant(load=0.8, late_s=0.06),
    "memory-20mb": Variant(memory_bytes=20_000_000),
}


def compute(times: float) -> int:
    """Does ``times`` times the computations of the baseline after a wake-up."""
    total = 0
    for number in range(int(STEPS * times)):
        total += number
    return total


def compute_in_child() -> None:
    """Starts a child that computes, and waits for it."""
    child = os.fork()
    if child == 0:
        compute(CHILD_COMPUTATIONS)
        os._exit(0)
    os.waitpid(child, 0)


def work(variant: Variant, window_s: float) -> None:
    """Runs a variant of the worker for ever."""
    load = variant.load
    if variant.rare_load is not None and random.random() < RARE:
        load = variant.rare_load
    load_each = load * variant.period_s / VARIANTS["base"].period_s
    job = Path("job")
    begun = due = time.monotonic()
    spin_at = begun + SPIN_AFTER_S if variant.spins else float("inf")
    burst_at = begun + window_s - BURST_BEFORE_END_S if variant.bursts else float("inf")
    child_at = begun + CHILD_EACH_S if variant.forks else float("inf")
    while True:
        due += variant.period_s
        if (now := time.monotonic()) < spin_at:
            time.sleep(max(0.0, due - now))
        compute(load_each)
        if now >= burst_at:
            burst_at = float("inf")
            compute(BURST_COMPUTATIONS)
        if now >= child_at:
            child_at += CHILD_EACH_S
            compute_in_child()
        if job.exists():
            time.sleep(variant.late_s)
            job.unlink()
            print("done", flush=True)


def main() -> None:
    variant = VARIANTS[sys.argv[1]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    held = b"\1" * variant.memory_bytes
    print("ready", flush=True)
    work(variant, float(sys.argv[2]))
    del held


if __name__ == "__main__":
    main()
