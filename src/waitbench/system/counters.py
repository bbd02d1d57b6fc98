"""Which kernel counters this machine allows, and what would mend it where it does not."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from waitbench.system.places import DATAFLOWS

_COUNTING = DATAFLOWS / "support" / "counting.py"
_SYSTEM_CALLS = Path("events/raw_syscalls/sys_enter/id")
_MOUNTS = Path("/proc/mounts")
_TRIES_S = 30


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A kernel counter, or why there is none."""

    tracepoint: int | None
    """What to count, by the kernel's number; ``None`` where it cannot be counted."""
    reason: str = ""
    """Why it cannot."""
    remedy: str = ""
    """The command that would mend it."""


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
            remedy=f"sudo chmod a+rx {folder} && sudo chmod -R a+rX {folder / 'events'}",
        )
    refused = _try(tracepoint)
    if refused:
        return Counter(
            tracepoint=None,
            reason=f"the kernel does not count for this user: {refused}",
            remedy="sudo sysctl kernel.perf_event_paranoid=-1",
        )
    return Counter(tracepoint=tracepoint)


def _tracing_folder() -> Path | None:
    """Where the tracing file system is mounted."""
    try:
        mounts = [line.split() for line in _MOUNTS.read_text().splitlines()]
    except OSError:
        return None
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "tracefs"), None)


def _try(tracepoint: int) -> str:
    """Counts in a process of our own. Why that fails; empty if it does not."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(_COUNTING), str(tracepoint)],
        capture_output=True,
        text=True,
        timeout=_TRIES_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
