"""Detection of the kernel's counters, with a remedy where they are not available."""

import errno
import os
from pathlib import Path

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Instruments
from waitbench.system.counters import INHERIT, hits_of, open_event

SETTING = "BENCH_INSTRUMENTS"
_SYSTEM_CALLS = Path("events/raw_syscalls/sys_enter/id")
_MOUNTS = Path("/proc/mounts")
_CONTAINER = (
    "docker run --cap-add PERFMON --cap-add SYS_ADMIN, or the like of it for this container"
)

_LEVEL = "sudo sysctl kernel.perf_event_paranoid=-1"


def find_instruments() -> Instruments:
    """Tries the counters on this process. Raises ``UsageError`` for an invalid setting."""
    setting = os.environ.get(SETTING) or "on"
    if setting not in ("on", "off"):
        raise UsageError(f"{SETTING}={setting}: must be on or off.")
    if setting == "off":
        return Instruments(reason=f"{SETTING} is off", remedy=f"unset {SETTING}")
    folder = _tracing_folder()
    if folder is None:
        mount = "sudo mount -t tracefs tracefs /sys/kernel/tracing"
        return Instruments(reason="the tracing file system is not mounted", remedy=mount)
    entry = folder / _SYSTEM_CALLS
    try:
        tracepoint = int(entry.read_text())
    except (OSError, ValueError) as error:
        readable = f"sudo chmod o+rx {folder} && sudo chmod o+r {entry}"
        return Instruments(reason=f"{entry} cannot be read: {error}", remedy=readable)
    try:
        os.close(open_event(*hits_of(tracepoint), INHERIT))
    except OSError as error:
        reason = f"the kernel does not count for this user: {error.strerror}"
        # The paranoia level answers EACCES; EPERM comes from a container's filter.
        allowed = _CONTAINER if error.errno == errno.EPERM else _LEVEL
        return Instruments(reason=reason, remedy=allowed)
    return Instruments(tracepoint=tracepoint)


def _tracing_folder() -> Path | None:
    try:
        mounts = [line.split() for line in _MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return None
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "tracefs"), None)
