"""dask.distributed with settings of ours: import it by this, so that it is quiet from the start.

What dask does every few milliseconds (sampling profiles, looking for who holds the interpreter's
lock, watching its event loop and the machine) would be other work of the machine that measures.
"""

import logging
import os
from collections.abc import Mapping

import dask.config

from waitbench.model.errors import UsageError

_SELDOM = "1h"

QUIET: Mapping[str, object] = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    # What a worker tells is kept by its client; here it is forgotten soon.
    "distributed.admin.low-level-log-length": 16,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": _SELDOM,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": _SELDOM,
    "distributed.admin.tick.cycle": _SELDOM,
    "distributed.admin.tick.limit": "2h",
    "distributed.client.scheduler-info-interval": _SELDOM,
    "distributed.client.heartbeat": "60s",
    # Wheels are larger than dask thinks that anything ought to be.
    "distributed.admin.large-graph-warning-threshold": "1GiB",
    # A cluster that does not answer is to be said within seconds.
    "distributed.comm.timeouts.connect": "5s",
}

dask.config.set(QUIET)
_NOTHING = logging.CRITICAL + 1
# We say what there is to say; distributed sets its loggers up when it is imported.
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")
dask.config.set({"logging": dict.fromkeys(_LOGGERS, _NOTHING)})

import distributed  # noqa: E402

__all__ = ["distributed"]


def require_certificate(role: str) -> None:
    """Raises ``UsageError`` for a file that TLS takes and that is not named, or cannot be read."""
    for setting, is_needed in (("ca-file", True), (f"{role}.cert", True), (f"{role}.key", False)):
        path = dask.config.get(f"distributed.comm.tls.{setting}", None)
        name = f"distributed.comm.tls.{setting}".replace("-", "_").replace(".", "__").upper()
        if not path and is_needed:
            raise UsageError(f"TLS asks for a certificate: set DASK_{name}.")
        if path and not os.access(path, os.R_OK):
            raise UsageError(f"DASK_{name}: there is no file {path!r} that can be read.")


def has_certificate(role: str) -> bool:
    """Whether dask's own configuration names a certificate for a scheduler, worker or client."""
    return bool(dask.config.get(f"distributed.comm.tls.{role}.cert", None))
