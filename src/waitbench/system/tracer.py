"""Whether this machine lets system calls be traced by name, and what would mend it."""

import os
import shutil
import subprocess
from dataclasses import dataclass

from waitbench.system.instruments import find_system_calls

PROGRAM = "bpftrace"

_TRIES_S = 60


@dataclass(frozen=True, kw_only=True)
class Tracer:
    """A program that traces, or why there is none."""

    path: str | None
    """Where it is; ``None`` where nothing can be traced."""
    reason: str = ""
    """Why not."""
    remedy: str = ""
    """The command that would mend it."""


def find_tracer() -> Tracer:
    """The tracer, tried on the tracepoint of system calls. Takes about a second."""
    if os.geteuid() != 0:
        return _none("only root may trace", "sudo ./waitbench compare … --trace")
    path = shutil.which(PROGRAM)
    if path is None:
        return _none(f"{PROGRAM} is not installed", f"sudo apt-get install {PROGRAM}")
    counter = find_system_calls()
    if counter.tracepoint is None:
        return _none(counter.reason, counter.remedy)
    refused = _try(path)
    if refused:
        remedy = "In a container: start it with --privileged --pid=host."
        return _none(f"{PROGRAM} cannot trace here: {refused}", remedy)
    return Tracer(path=path)


def _none(reason: str, remedy: str) -> Tracer:
    return Tracer(path=None, reason=reason, remedy=remedy)


def _try(path: str) -> str:
    """Attaches to the tracepoint, and to no more. Why that fails; empty if it does not."""
    program = "tracepoint:raw_syscalls:sys_enter { exit(); }"
    try:
        done = subprocess.run(
            [path, "-e", program], capture_output=True, text=True, timeout=_TRIES_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else said[-1] if said else f"exit code {done.returncode}"
