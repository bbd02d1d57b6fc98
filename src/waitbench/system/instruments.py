"""Which instruments this machine allows, and what would mend it where it does not."""

import errno
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.metrics import Instruments
from waitbench.system.counters import INHERIT, hits_of, open_event, read_counter
from waitbench.system.installation import called
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

TRACER = "bpftrace"
_ATTACHES_WITHIN_S = 60


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


@dataclass(frozen=True, kw_only=True)
class Tracer(_Instrument):
    """A program that traces system calls by name, or why there is none."""

    path: str | None
    """Where it is; ``None`` where nothing can be traced."""


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


def find_tracer() -> Tracer:
    """The tracer, tried on the tracepoint of system calls. Takes about a second."""
    if os.geteuid() != 0:
        return _no_tracer("only root may trace", f"sudo {called('compare')} … --trace")
    path = shutil.which(TRACER)
    if path is None:
        return _no_tracer(f"{TRACER} is not installed", f"sudo apt-get install {TRACER}")
    counter = find_system_calls()
    if counter.tracepoint is None:
        return _no_tracer(counter.reason, counter.remedy)
    refused = _try_tracer(path)
    if refused:
        remedy = "In a container: start it with --privileged --pid=host."
        return _no_tracer(f"{TRACER} cannot trace here: {refused}", remedy)
    return Tracer(path=path)


def _no_tracer(reason: str, remedy: str) -> Tracer:
    return Tracer(path=None, reason=reason, remedy=remedy)


def _try_tracer(path: str) -> str:
    """Attaches to the tracepoint, and to no more. Why that fails; empty if it does not."""
    program = "tracepoint:raw_syscalls:sys_enter { exit(); }"
    try:
        done = subprocess.run(
            [path, "-e", program],
            capture_output=True,
            text=True,
            timeout=_ATTACHES_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else said[-1] if said else f"exit code {done.returncode}"
