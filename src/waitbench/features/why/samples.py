"""Stacks and wake-ups of threads, sampled in an extra, unmeasured run."""

import msgspec

from waitbench.model.metrics import Count, Finite

PYTHON, NATIVE, KERNEL = "python", "native", "kernel"
WAKEUP_COST_S = 5e-5
"""The weight of a wake-up relative to CPU time in the order of threads and processes."""


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function of a stack."""

    name: str
    kind: str = NATIVE
    file: str = ""
    """The last two parts of its path, such as ``redis/client.py``; empty if unknown."""
    line: Count = 0


class Stack(msgspec.Struct, frozen=True):
    """A place where a thread was seen."""

    frames: tuple[Frame, ...]
    looks: Count


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """The threads of one name in one process."""

    process: str
    """The role of the process, such as ``worker 0`` or ``child celery``."""
    name: str
    wakeups_per_s: tuple[Finite, ...]
    """Both for equal parts of the counted time; CPU as a share of one CPU."""
    cpu_share: tuple[Finite, ...]
    delayed: Finite = 0.0
    """The share of the time spent waiting for a CPU."""
    asleep: tuple[Stack, ...] = ()
    at_work: tuple[Stack, ...] = ()


class Why(msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision"}):
    """The threads of one revision."""

    label: str
    counted_s: Finite
    """The time for which wake-ups and CPU were counted, undisturbed."""
    threads: tuple[Thread, ...]
    remarks: tuple[str, ...] = ()
