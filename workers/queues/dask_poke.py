"""Asks a scheduler of dask who it is, or has its worker carry out a task that does nothing.

Says how long that took, without connecting.
"""

import sys
import time

from distributed import Client


def nothing() -> None:
    """Does nothing."""


what, port = sys.argv[1:]
with Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client:
    begun = time.perf_counter()
    if what == "worker":
        client.submit(nothing).result(20)
    else:
        client.sync(client.scheduler.identity)
    print(f"lateness {time.perf_counter() - begun:.9f}", flush=True)
