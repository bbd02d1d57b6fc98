"""Which instruments this machine allows, and what would mend it where it does not."""

import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.metrics import Instruments
from waitbench.system.counters import INHERIT, hits_of, open_event, read_counter
from waitbench.system.sampling import ClockSampler

_SYSTEM_CALLS = Path("events/raw_syscalls/sys_enter/id")
_MOUNTS = Path("/proc/mounts")
_TRIES_S = 0.02
"""What is sampled to try it, in seconds of CPU time."""

_COUNTS_TRACEPOINTS = -1
_SAMPLES_OWN_TASKS = 1
"""Up to which ``perf_event_paranoid`` an unprivileged user may do so, in the kernel too."""
_CONTAINER = (
    "docker run --cap-add PERFMON --cap-add SYS_ADMIN, or the like of it for this container"
)


@dataclass(frozen=True, kw_only=True)
class _Instrument:
    reason: str = ""
    """Why there is none."""
    remedy: str = ""
    """The command that would mend that."""


@dataclass(frozen=True, kw_only=True)
class Counter(_Instrument):
    """A kernel counter, or why there is none."""

    tracepoint: int | None
    """What to count, by the kernel's number; ``None`` where it cannot be counted."""


@dataclass(frozen=True, kw_only=True)
class Sampler(_Instrument):
    """Whether the clock of a run's processes may be sampled, or why it may not."""

    allowed: bool


def find_instruments() -> Instruments:
    """Everything that this machine allows, each tried on this process."""
    return Instruments(tracepoint=find_system_calls().tracepoint, sampler=find_sampler().allowed)


def find_system_calls() -> Counter:
    """The counter of system calls, tried on this process."""
    folder = _tracing_folder()
    if folder is None:
        return Counter(
            tracepoint=None,
            reason="the tracing file system is not mounted",
            remedy="sudo mount -t tracefs tracefs /sys/kernel/tracing",
        )
    try:
        tracepoint = int((folder / _SYSTEM_CALLS).read_text())
    except (OSError, ValueError) as error:
        return Counter(
            tracepoint=None,
            reason=f"{folder / _SYSTEM_CALLS} cannot be read: {error}",
            remedy=f"sudo chmod o+rx {folder} && sudo chmod o+r {folder / _SYSTEM_CALLS}",
        )
    try:
        _count(tracepoint)
    except OSError as error:
        return Counter(
            tracepoint=None,
            reason=f"the kernel does not count for this user: {error.strerror}",
            remedy=_remedy(error, _COUNTS_TRACEPOINTS),
        )
    return Counter(tracepoint=tracepoint)


def find_sampler() -> Sampler:
    """The sampler of the clock, tried on this process."""
    try:
        _sample()
    except OSError as error:
        return Sampler(
            allowed=False,
            reason=f"the kernel does not sample for this user: {error.strerror}",
            remedy=_remedy(error, _SAMPLES_OWN_TASKS),
        )
    return Sampler(allowed=True)


def _tracing_folder() -> Path | None:
    """Where the tracing file system is mounted."""
    try:
        mounts = [line.split() for line in _MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return None
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "tracefs"), None)


def _count(tracepoint: int) -> None:
    """Counts two calls of this thread. Raises ``OSError`` if the kernel does not."""
    counter = open_event(*hits_of(tracepoint), INHERIT)
    try:
        before = read_counter(counter)
        os.getppid()
        counted = read_counter(counter) - before
    finally:
        os.close(counter)
    if counted < 2:
        raise OSError(errno.EIO, f"it counts {counted} of 2 calls")


def _sample() -> None:
    """Samples this thread for a moment. Raises ``OSError`` if the kernel does not."""
    with ClockSampler(1_000_000) as sampler:
        sampler.sample_this_thread()
        end = time.thread_time() + _TRIES_S
        while time.thread_time() < end:
            pass
    if not (sampler.samples or {}).get(os.getpid()):
        raise OSError(errno.EIO, "it gives no samples")


def _remedy(refused: OSError, level: int) -> str:
    """What would allow it: another answer than that of the kernel's own level is a container's."""
    if refused.errno == errno.EPERM:
        return _CONTAINER
    return f"sudo sysctl kernel.perf_event_paranoid={level}"
