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


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thread waits, or works, and what that costs."""

    process: str
    """The role of its process, such as ``worker 0`` or ``child celery``."""
    thread: str
    waits: bool
    """Whether it was asleep there; else it was on a CPU."""
    stack: tuple[Frame, ...]
    """The outermost first; empty where it could not be seen."""
    wakeups_per_s: Finite
    """How often a second it wakes up there."""
    cpu_share: Finite
    """Of one CPU: what it uses there, and between this place and the next where it waits."""
    looks: Count = 0
    """How often it was seen there; 0 where it was not, or where nobody has noted it."""


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What one thread did while it was counted, in each of some equal parts of that time."""

    process: str
    thread: str
    wakeups_per_s: tuple[Finite, ...]
    cpu_share: tuple[Finite, ...]
    delayed: Finite = 0.0
    """The share of the time for which it had to wait for a CPU."""


class Why(msgspec.Struct, frozen=True, kw_only=True, rename={"label": "revision"}):
    """Where the threads of one revision wait and work."""

    label: str
    counted_s: Finite
    """For how long wake-ups and CPU were counted, undisturbed."""
    looks: Count
    """How often a stack was looked at afterwards."""
    places: tuple[Place, ...]
    threads: tuple[Counted, ...] = ()
    """Of each thread what was counted; nothing, where nobody has noted it."""
    remarks: tuple[str, ...] = ()
    """What could not be seen, and why, a sentence each."""
