"""A scheduler, and a worker a machine: dask's own, with settings of ours, until they are ended.

Each unit is carried out in a process of its own, while the worker sleeps. The process is what a
user would have started; signals, guards and cleaning up are its own. It gets its order as the first
line of stdin, and it ends when that ends: it cannot outlive its worker.
"""

import asyncio
import hashlib
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import dask.config

from waitbench.cluster import RESULTS, WHEELS
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.reporting.console import make_console
from waitbench.system import installation, locks, variables
from waitbench.system.instruments import find_instruments
from waitbench.system.places import Cache
from waitbench.system.processes import kill_group, tail

# distributed is imported after its settings, so that it is quiet from the start. What it does every
# few milliseconds (sampling profiles, looking for who holds the interpreter's lock, watching its
# event loop and the machine) would be other work of the machine that measures.
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

import distributed as distributed  # noqa: E402, PLC0414

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
MACHINE = "machine"
"""The resource of which every worker of ours has one."""
PLUGIN = "waitbench"
_LONGEST_LINE = 2**28
_ENDS_WITHIN_S = 5.0


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
                _say(f"Node {worker.name} at {worker.address}, for {self.scheduler}")
                await worker.finished()  # type: ignore[no-untyped-call]
        except (TypeError, ValueError, OSError, RuntimeError) as error:
            raise HarnessError(
                f"This node cannot join the scheduler at {self.scheduler}: {error}"
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


@dataclass
class UnitRunner(distributed.WorkerPlugin):
    """Starts the processes of units, and ends one whose task nobody wants any more."""

    program: Sequence[str]
    """What starts waitbench, with a command to follow."""
    cache: Cache
    name: str = PLUGIN
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    def transition(self, key: Any, start: str, finish: str, **_: object) -> None:
        """Told by dask whenever a task changes its state."""
        process = self._running.get(key)
        if process is not None and start != finish and finish in ("cancelled", "released"):
            _let_go(process)

    async def carry_out(
        self, key: str, topic: str, order: str, wheels: Mapping[str, bytes]
    ) -> Mapping[str, Any]:
        """Runs a unit to its end; what it says goes to the topic."""
        worker = distributed.get_worker()
        with locks.own_folder(self.cache.folder("units")) as folder:
            _write_wheels(folder / WHEELS, wheels)
            complaints = folder / "complaints"
            with complaints.open("wb") as stderr:
                process = await self._start(folder, stderr)
            self._running[key] = process
            try:
                await _follow(process, order, worker, key, topic)
                code = await process.wait()
            finally:
                del self._running[key]
                await _end(process)
            files = _contents(folder / RESULTS) if code == 0 else {}
            return {"code": code, "said": tail(complaints), "files": files}

    async def _start(self, folder: Path, stderr: IO[bytes]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(*self.program, "unit", str(folder), "--cache", str(self.cache.root)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env=variables.of_caller(),
            limit=_LONGEST_LINE,
            # A Ctrl-C that is meant for the worker reaches it by the worker, in order.
            start_new_session=True,
        )


async def carry_out(key: str, topic: str, order: str, wheels: Sequence[bytes]) -> Mapping[str, Any]:
    """The task of a unit, as it is submitted: what ``UnitRunner`` of the worker makes of it."""
    runner = distributed.get_worker().plugins[PLUGIN]
    assert isinstance(runner, UnitRunner), "a worker of ours has it"
    by_digest = {hashlib.sha256(wheel).hexdigest(): wheel for wheel in wheels}
    return await runner.carry_out(key, topic, order, by_digest)


def as_it_is(content: bytes) -> bytes:
    """The task of a wheel: workers have it of one another."""
    return content


async def _follow(
    process: asyncio.subprocess.Process, order: str, worker: Any, key: str, topic: str
) -> None:
    """Hands over the order, and hands on each line that the process prints."""
    assert process.stdin is not None, "opened with a pipe"
    assert process.stdout is not None, "opened with a pipe"
    with suppress(OSError):  # it may have ended already
        process.stdin.write(f"{order}\n".encode())
        await process.stdin.drain()
    async for line in process.stdout:
        worker.log_event(topic, {"key": key, "line": line.decode("utf-8", "replace").rstrip("\n")})


async def _end(process: asyncio.subprocess.Process) -> None:
    """Sees to it that nothing of it is left."""
    _let_go(process)
    try:
        await asyncio.wait_for(asyncio.shield(process.wait()), _ENDS_WITHIN_S)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    finally:
        kill_group(process.pid)


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Ends its stdin, by which it knows that nobody wants it any more."""
    if process.stdin is not None:
        process.stdin.close()


def _write_wheels(folder: Path, wheels: Mapping[str, bytes]) -> None:
    for digest, content in wheels.items():
        folder.mkdir(exist_ok=True)
        (folder / digest).write_bytes(content)


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
