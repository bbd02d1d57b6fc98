"""Which instruments this machine allows, and what would mend it where it does not."""

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.instruments import Instruments
from waitbench.system.places import DATAFLOWS

_SYSTEM_CALLS = Path("events/raw_syscalls/sys_enter/id")
_MOUNTS = Path("/proc/mounts")
_TRIES_S = 30

_COUNTS_TRACEPOINTS = -1
_SAMPLES_OWN_TASKS = 1
"""Up to which ``perf_event_paranoid`` an unprivileged user may do so, in the kernel too."""
_CONTAINER = (
    "docker run --cap-add PERFMON --cap-add SYS_ADMIN, or the like of it for this container"
)


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A kernel counter, or why there is none."""

    tracepoint: int | None
    """What to count, by the kernel's number; ``None`` where it cannot be counted."""
    reason: str = ""
    """Why it cannot."""
    remedy: str = ""
    """The command that would mend it."""


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Whether the clock of a run's processes may be sampled, or why it may not."""

    allowed: bool
    reason: str = ""
    remedy: str = ""
    """The command that would mend it."""


def find_instruments() -> Instruments:
    """Everything that this machine allows, each tried on a process of our own."""
    return Instruments(tracepoint=find_system_calls().tracepoint, sampler=find_sampler().allowed)


def find_system_calls() -> Counter:
    """The counter of system calls, tried on a process of our own."""
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
    refused = _try("counting", str(tracepoint))
    if refused:
        return Counter(
            tracepoint=None,
            reason=f"the kernel does not count for this user: {refused}",
            remedy=_remedy(refused, _COUNTS_TRACEPOINTS),
        )
    return Counter(tracepoint=tracepoint)


def find_sampler() -> Sampler:
    """The sampler of the clock, tried on a process of our own."""
    refused = _try("sampling")
    if refused:
        return Sampler(
            allowed=False,
            reason=f"the kernel does not sample for this user: {refused}",
            remedy=_remedy(refused, _SAMPLES_OWN_TASKS),
        )
    return Sampler(allowed=True)


def _tracing_folder() -> Path | None:
    """Where the tracing file system is mounted."""
    try:
        mounts = [line.split() for line in _MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return None
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "tracefs"), None)


def _try(instrument: str, *arguments: str) -> str:
    """Uses it in a process of our own. Why that fails; empty if it does not."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", f"support.{instrument}", *arguments],
        capture_output=True,
        text=True,
        timeout=_TRIES_S,
        check=False,
        env={**os.environ, "PYTHONPATH": str(DATAFLOWS)},
    )
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _remedy(refused: str, level: int) -> str:
    """What would allow it: another answer than that of the kernel's own level is a container's."""
    if refused == os.strerror(errno.EPERM):
        return _CONTAINER
    return f"sudo sysctl kernel.perf_event_paranoid={level}"
