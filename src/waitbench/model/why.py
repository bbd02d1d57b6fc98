"""Why: who wakes a worker up, and from where: what one extra, unmeasured run shows."""

import msgspec

from waitbench.model.metrics import Count, Finite

PYTHON, NATIVE, KERNEL = "python", "native", "kernel"
"""Whose code a frame is: of Python, compiled, or the system call that it ends in."""


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One function of a stack."""

    name: str
    kind: str = NATIVE
    file: str = ""
    """Its last two parts, such as ``redis/client.py``; empty where it is not known."""
    line: Count = 0
    """0 where it is not known."""


class Stack(msgspec.Struct, frozen=True):
    """Where a thread was."""

    frames: tuple[Frame, ...]
    """The outermost first."""
    looks: Count
    """How often it was seen there."""


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """What the threads of one name in one process did, and where they were."""

    process: str
    """The role of the process, such as ``worker 0`` or ``child celery``."""
    name: str
    """Without the number that says how many were made before it."""
    wakeups_per_s: tuple[Finite, ...]
    """In each of some equal parts of the time in which they were counted."""
    cpu_share: tuple[Finite, ...]
    """Of one CPU, likewise."""
    delayed: Finite = 0.0
    """The share of the time for which one had to wait for a CPU."""
    asleep: tuple[Stack, ...] = ()
    """Where they sleep; empty where that could not be seen."""
    at_work: tuple[Stack, ...] = ()
    """Where they use CPU, if that is worth a look."""


class Why(msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision"}):
    """Where the threads of one revision wait and work."""

    label: str
    counted_s: Finite
    """For how long wake-ups and CPU were counted, undisturbed."""
    threads: tuple[Thread, ...]
    remarks: tuple[str, ...] = ()
    """What could not be seen, and why, a sentence each."""
