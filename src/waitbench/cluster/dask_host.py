"""A scheduler, and a worker a machine: dask's own, with settings of ours, until they are ended."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from waitbench.cluster.dask_settings import distributed, has_certificate, require_certificate
from waitbench.cluster.dask_unit import MACHINE, UnitRunner
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.reporting.console import make_console
from waitbench.system import installation
from waitbench.system.instruments import find_instruments
from waitbench.system.places import Cache

ABOUT = "waitbench"
"""What a worker tells of itself, among what dask tells."""
_LOOPBACK = "127.0.0.1"
_FAR_AWAY = "8.8.8.8"
"""By the way to it, dask finds the address of a machine."""
_BEAT_S = 30.0
"""How often a worker says that it is alive. A closed connection says the contrary at once."""
_RETRY_S = 5.0
_ENOUGH = 3
"""So many signals end it at once; units end when they notice."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Worker(distributed.Worker):
    """dask's own, but that it seldom says that it is alive: schedulers ask for twice a second."""

    async def heartbeat(self) -> None:
        await super().heartbeat()
        self.periodic_callbacks["heartbeat"].callback_time = _BEAT_S * 1000


@dataclass(frozen=True, kw_only=True)
class SchedulerHost:
    """Where the workers are known, and who does what is decided."""

    host: str | None
    """Where it listens. By default everywhere with certificates, else on loopback."""
    port: int

    def serve(self, *, until_stdin_ends: bool) -> None:
        """Blocks until it is ended. Raises ``HarnessError`` where it cannot listen."""
        asyncio.run(_until_ended(self._serve(), until_stdin_ends))

    async def _serve(self) -> None:
        secure = has_certificate("scheduler")
        host = self.host or ("" if secure else _LOOPBACK)
        if secure:
            require_certificate("scheduler")
        if not host and _address_towards(_FAR_AWAY) is None:
            raise UsageError(
                "This machine has no route to anywhere else, so it does not know its own address: "
                "name the one to listen at with --host ADDRESS."
            )
        try:
            scheduler = distributed.Scheduler(
                host=f"{'tls' if secure else 'tcp'}://{host}",
                port=self.port,
                protocol="tls" if secure else "tcp",
                dashboard_address=f"{_LOOPBACK}:0",
                dashboard=False,
                allowed_failures=0,
            )
            _without_polling(scheduler)
            async with scheduler:
                _say(f"Scheduler at {scheduler.address}")
                await scheduler.finished()
        except (OSError, ValueError) as error:
            raise HarnessError(f"No scheduler can listen at port {self.port}: {error}.") from error


@dataclass(frozen=True, kw_only=True)
class WorkerHost:
    """One machine that carries out units, one at a time."""

    scheduler: str
    name: str | None
    cache: Cache

    def serve(self, *, until_stdin_ends: bool) -> None:
        """Blocks until it is ended; waits for a scheduler that is not there."""
        asyncio.run(_until_ended(self._serve(), until_stdin_ends))

    async def _serve(self) -> None:
        if self.scheduler.startswith("tls:"):
            require_certificate("worker")
        about = self._about()
        while True:
            _say(f"Waiting for the scheduler at {self.scheduler} …")
            with tempfile.TemporaryDirectory() as folder:
                await self._serve_once(about, folder)
            _say("The scheduler is gone.")
            await asyncio.sleep(_RETRY_S)

    async def _serve_once(self, about: Mapping[str, Any], folder: str) -> None:
        host = _address_towards(urlsplit(self.scheduler).hostname or "")
        if host is None:
            raise HarnessError(f"This machine has no route to the scheduler at {self.scheduler}.")
        runner = UnitRunner(program=installation.program(), cache=self.cache)
        try:
            worker = _Worker(
                self.scheduler,
                name=self.name or socket.gethostname(),
                nthreads=1,
                resources={MACHINE: 1},
                memory_limit=0,
                local_directory=folder,
                dashboard_address=f"{_LOOPBACK}:0",
                dashboard=False,
                plugins=(runner,),
                startup_information={ABOUT: lambda _worker: about},
                protocol="tls" if self.scheduler.startswith("tls:") else "tcp",
                # Not everywhere: whoever can talk to a worker can run anything on it.
                host=host,
            )
            async with worker:
                _say(f"Worker {worker.name} at {worker.address}, for {self.scheduler}")
                await worker.finished()  # type: ignore[no-untyped-call]
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise HarnessError(
                f"This worker cannot join the scheduler at {self.scheduler}: {error}"
            ) from error

    def _about(self) -> Mapping[str, Any]:
        return {
            "version": installation.version(),
            "host": socket.gethostname(),
            "instruments": sorted(find_instruments().keys),
        }


def _say(what: str) -> None:
    make_console().print(what, soft_wrap=True, highlight=False)


def _address_towards(host: str) -> str | None:
    """This machine's address, as a host sees it (loopback, if it is this); ``None`` if unknown."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 1, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as one:
            one.connect(address)  # nothing is sent
            return str(one.getsockname()[0])
    except OSError:
        return None


def _without_polling(scheduler: Any) -> None:
    """Takes out what looks four times a second for time limits that are not set."""
    for name in ("idle-timeout", "no-workers-timeout"):
        scheduler.periodic_callbacks.pop(name, None)


async def _until_ended(serving: Awaitable[None], until_stdin_ends: bool) -> None:
    """Serves until a signal, or the end of stdin. Raises ``KeyboardInterrupt`` for a signal."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[bool] = loop.create_future()

    signals = 0

    def end(by_signal: bool) -> None:
        nonlocal signals
        signals += by_signal
        if signals >= _ENOUGH:
            os._exit(ExitCode.INTERRUPTED)
        if not ended.done():
            ended.set_result(by_signal)

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, True)
    if until_stdin_ends:
        await loop.connect_read_pipe(lambda: _Closing(end), sys.stdin)
    task = asyncio.ensure_future(serving)
    await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    else:
        task.result()
    if ended.done() and ended.result():
        raise KeyboardInterrupt


class _Closing(asyncio.Protocol):
    """Tells when a pipe is closed at its other end."""

    def __init__(self, end: Callable[[bool], None]) -> None:
        self._end = end

    def connection_lost(self, _error: Exception | None) -> None:
        self._end(False)
