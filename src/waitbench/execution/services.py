"""Runs services during a run: each is a process on a free port, ready before it is asked."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.engines.base import Service
from waitbench.execution.service_launch import ENDS_WITHIN_S, request
from waitbench.model.errors import HarnessError
from waitbench.model.launch import LaunchConfig, RunningService, decode, encode
from waitbench.system import files, proc, processes, variables
from waitbench.system.paths import Cache
from waitbench.system.processes import limited, tail
from waitbench.system.tcp import free_port

LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
_SPARE_S = 10.0
"""The launcher's own time to end."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A service that is up."""

    service: Service
    state: RunningService
    log: Path
    process: "subprocess.Popen[bytes]" = field(repr=False, compare=False)

    def why_ended(self) -> str | None:
        code = self.process.poll()
        if code is None:
            return None
        last = tail(self.log, 1)
        return f"the {self.service.name} ended, with exit code {code}{': ' if last else ''}{last}"


@contextmanager
def _serving(service: Service, logs: Path, cache: Cache) -> Iterator[Server]:
    service.require()
    port = free_port()
    folder = logs / f"service-{service.name}"
    folder.mkdir()
    config = service.config(port, folder)
    log = Path(config.log)
    reading, writing = os.pipe()
    launchers = list[int]()

    def stop() -> None:
        # Errors quote the end of the log.
        file.write(f"\nit wrote more than {files.MOST_OUTPUT >> 20} MiB; killed\n".encode())
        proc.kill(lambda: [it for pid in launchers for it in proc.tree(pid)])

    with log.open("xb") as file, os.fdopen(reading) as report, ExitStack() as copying:
        output = copying.enter_context(limited(file, stop))
        process = processes.start(
            [*LAUNCHER, f"/dev/fd/{writing}", encode(LaunchConfig(program=config))],
            output,
            output,
            # A .env of the user's must not be read.
            cwd=folder,
            env={**variables.of_workload(), "WAITBENCH_CACHE": str(cache.root)},
            pass_fds=[writing],
        )
        launchers.append(process.pid)
        os.close(writing)
        try:
            within_s = config.ready.seconds or config.ready.within
            is_heard = select.select([report], [], [], within_s + _SPARE_S)[0]
            # Empty if the launcher was killed, or stopped by its service.
            line = report.readline() if is_heard else ""
            state: RunningService | str = decode(line) if line else "was killed"
            if isinstance(state, str):
                copying.close()  # so that the whole log is there
                raise _not_ready(service, state, log, cache)
            yield Server(service=service, state=state, log=log, process=process)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S + _SPARE_S)
            has_ended = process.returncode is not None
            processes.end(process, lambda pid: () if has_ended else proc.tree(pid))


def _not_ready(service: Service, why: str, log: Path, cache: Cache) -> HarnessError:
    saved_log = cache.folder("logs") / log.name
    with suppress(OSError):
        saved_log.write_bytes(files.read(log))
    colon = ":" if why.startswith("the ") else ""
    why = f"The service {service.name}{colon} {why.removeprefix('it ')}"
    last = tail(log, 1)
    printed = f"It printed: {last}" if last else "It printed nothing."
    return HarnessError(f"{why}. {printed}\nIts log: {saved_log}\n{tail(log, first=3)}".rstrip())


@dataclass(frozen=True)
class Running:
    """The servers of a run, in the order in which they started."""

    servers: tuple[Server, ...]

    def described(self) -> dict[str, RunningService]:
        """Describes the servers to the launcher of a worker: execution/worker_launch.py."""
        return {server.service.name: server.state for server in self.servers}

    def cpu_s(self) -> float:
        """Returns the servers' CPU time so far. Raises ``HarnessError`` if one has ended."""
        try:
            return sum(request(server.state) for server in self.servers)
        except OSError as error:
            raise HarnessError(self.why_ended() or "a service ended during the run") from error

    def why_ended(self) -> str | None:
        return next(filter(None, (server.why_ended() for server in self.servers)), None)

    def last_words(self) -> str:
        logs = [server.log for server in self.servers if server.why_ended()]
        return "\n".join(f"{log.name}:\n{tail(log)}" for log in logs)


@contextmanager
def running(services: Sequence[Service], logs: Path, cache: Cache) -> Iterator[Running]:
    """Starts each service when the one before it is up. Raises ``HarnessError``."""
    with ExitStack() as stack:
        yield Running(tuple(stack.enter_context(_serving(it, logs, cache)) for it in services))
