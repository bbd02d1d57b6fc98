"""Services -> running servers, for as long as a run.

Each is a process of its own on a free port, and is ready before anybody asks it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.engines.services import Service
from waitbench.execution.service_launch import ENDS_WITHIN_S
from waitbench.model.errors import HarnessError
from waitbench.system import trees, variables
from waitbench.system.counters import asked
from waitbench.system.guard import GUARD
from waitbench.system.places import Cache
from waitbench.system.ports import free_port
from waitbench.system.processes import tail

_LAUNCH = Path(__file__).with_name("launch.py")
_SPARE_S = 10.0
"""What our launcher may take to end beyond what its service may."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One service that is up."""

    service: Service
    pid: int
    cpu: str
    up: str
    """The names under which its CPU time is told, and whether it is up: system/counters.py."""
    port: int
    log: Path
    process: "subprocess.Popen[bytes]" = field(repr=False, compare=False)
    folder: Path
    """Where it runs."""

    def ended(self) -> str | None:
        """What is to be said of it if it has ended by itself."""
        code = self.process.poll()
        if code is None:
            return None
        last = tail(self.log, 1)
        return f"the {self.service.name} ended, with exit code {code}{': ' if last else ''}{last}"


@contextmanager
def _serving(service: Service, logs: Path, cache: Cache) -> Iterator[Server]:
    """A server of a service, for the time of the block. Raises ``HarnessError``."""
    service.require()
    port = free_port()
    log = logs / f"service-{service.name}.log"
    folder = logs / f"service-{service.name}"
    folder.mkdir()
    told = {"service": {**service.launched(port, folder), "log": str(log)}, "tracepoint": None}
    reading, writing = os.pipe()
    with log.open("wb") as output, os.fdopen(reading) as report:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCH), f"/dev/fd/{writing}", json.dumps(told)],
            # Away from any .env of the user's.
            cwd=folder,
            env={**variables.of_workload(), "WAITBENCH_CACHE": str(cache.root), **GUARD.mark()},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=[writing],
        )
        os.close(writing)
        try:
            # A line, when it is ready or has failed; nothing where the launcher was killed.
            said = json.loads(report.readline() or "{}")
            if "pid" not in said:
                raise _not_ready(service, said.get("why", "was killed"), log, cache)
            yield Server(
                service=service, port=port, log=log, process=process, folder=folder, **said
            )
        finally:
            process.terminate()
            try:
                process.wait(ENDS_WITHIN_S + _SPARE_S)
            except subprocess.TimeoutExpired:
                trees.kill(lambda: [process.pid, *trees.below(process.pid)])
                process.wait()
            assert process.stdin is not None, "opened with a pipe"
            process.stdin.close()


def _not_ready(service: Service, why: str, log: Path, cache: Cache) -> HarnessError:
    """The error about a service that does not start, whose log it keeps."""
    kept = cache.folder("logs") / log.name
    shutil.copyfile(log, kept)
    why = f"The service {service.name} {why.removeprefix('it ')}"
    last = tail(log, 1)
    printed = f"It printed: {last}" if last else "It printed nothing."
    return HarnessError(f"{why}. {printed}\nIts log: {kept}\n{tail(log)}".rstrip())


@dataclass(frozen=True)
class Running:
    """The servers of a run, all of them up."""

    servers: tuple[Server, ...]
    """In the order in which they started."""

    def described(self) -> dict[str, dict[str, object]]:
        """What the launcher of a command is told of each: execution/worker_launch.py."""
        return {
            server.service.name: {
                "cpu": server.cpu,
                "port": server.port,
                "folder": str(server.folder),
                "counters": server.service.counting(server.port, server.folder),
                "launcher": server.process.pid,
                "up": server.up,
            }
            for server in self.servers
        }

    def cpu_s(self) -> float:
        """User and system time of the servers so far. Raises ``HarnessError`` if one has ended."""
        try:
            return sum(asked(server.cpu) for server in self.servers) / 1e9
        except OSError as error:
            raise HarnessError(self.ended() or "a service ended during the run") from error

    def ended(self) -> str | None:
        """What is to be said of the first server that has ended by itself, if one has."""
        return next(filter(None, (server.ended() for server in self.servers)), None)

    def last_words(self) -> str:
        """The end of the log of each server that has ended by itself."""
        logs = [server.log for server in self.servers if server.ended()]
        return "\n".join(f"{log.name}:\n{tail(log)}" for log in logs)


@contextmanager
def running(services: Sequence[Service], logs: Path, cache: Cache) -> Iterator[Running]:
    """Starts each service when the one before it is up, and stops them afterwards.

    Raises ``HarnessError`` with the last words of a service that does not start.
    """
    with ExitStack() as stack:
        yield Running(tuple(stack.enter_context(_serving(one, logs, cache)) for one in services))
