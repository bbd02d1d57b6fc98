"""Runs the services of a run, each with a launcher and a free port, ready before the worker."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.engines.base import Service, require_program
from waitbench.execution.service_launch import ENDS_WITHIN_S, request
from waitbench.model.errors import HarnessError
from waitbench.model.launch import LaunchConfig, ServiceConfig, decode, encode
from waitbench.system import files, proc, processes, variables
from waitbench.system.paths import Cache
from waitbench.system.processes import limited, tail
from waitbench.system.tcp import free_port

LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
_SPARE_S = 10.0
"""Added to the time limits of a service, for its launcher."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A service that has become ready."""

    service: Service
    config: ServiceConfig
    log: Path
    process: "subprocess.Popen[bytes]" = field(repr=False, compare=False)
    copying: ExitStack = field(repr=False, compare=False)
    """Copies its output into the log until it is closed."""

    def why_ended(self) -> str | None:
        """Returns the failure of a service that has ended; ``None`` if it runs."""
        code = self.process.poll()
        if code is None:
            return None
        self.copying.close()  # completes the log
        last = tail(self.log, 1)
        return f"the {self.service.name} ended, with exit code {code}{': ' if last else ''}{last}"


@contextmanager
def _serving(service: Service, logs: Path, cache: Cache) -> Iterator[Server]:
    """Runs a service within the block. Raises ``HarnessError`` if it does not become ready."""
    require_program(service.table.command[0], f"The service {service.name}", service.table.install)
    port = free_port()
    folder = logs / f"service-{service.name}"
    folder.mkdir()
    config = service.configure(port, folder)
    log = Path(config.log)
    reading, writing = os.pipe()
    launchers = list[int]()  # empty until it has started
    find_left = processes.tree_and_orphans()

    def stop() -> None:
        # Into the log, as errors quote its end.
        file.write(f"\nit wrote more than {files.MOST_OUTPUT >> 20} MiB; killed\n".encode())
        proc.kill(lambda: [pid for launcher in launchers for pid in proc.tree(launcher)])

    with log.open("xb") as file, os.fdopen(reading) as report, ExitStack() as copying:
        output = copying.enter_context(limited(file, stop))
        process = processes.start(
            [*LAUNCHER, f"/dev/fd/{writing}", encode(LaunchConfig(program=config))],
            output,
            output,
            # Not the current folder, where some programs would read the user's file .env.
            cwd=folder,
            env={**variables.of_run(), "WAITBENCH_CACHE": str(cache.root)},
            pass_fds=[writing],
        )
        launchers.append(process.pid)
        os.close(writing)
        try:
            within_s = config.ready.seconds or config.ready.within
            has_reported = select.select([report], [], [], within_s + _SPARE_S)[0]
            line = report.readline() if has_reported else ""
            # A launcher that ends without a report was killed, or its service has stopped it.
            why = "was killed" if has_reported else f"was not ready within {within_s:g} s"
            state: ServiceConfig | str = decode(line) if line else why
            if isinstance(state, str):
                copying.close()  # completes the log
                raise _not_ready(service, state, log, cache)
            # So that it is not left by any run, even if its launcher is killed.
            processes.forget_present()
            yield Server(service=service, config=state, log=log, process=process, copying=copying)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S + _SPARE_S)
            # A launcher that was killed leaves its service.
            has_ended = process.returncode is not None and process.returncode >= 0
            processes.end(process, (lambda _pid: ()) if has_ended else find_left)


def _not_ready(service: Service, why: str, log: Path, cache: Cache) -> HarnessError:
    """Makes the error of a service that failed to start, and saves its log in the cache."""
    saved_log = cache.folder("logs") / log.name
    with suppress(OSError):
        saved_log.write_bytes(files.read(log))
    colon = ":" if why.startswith("the ") else ""  # with another subject than the service
    why = f"The service {service.name}{colon} {why.removeprefix('it ')}"
    last = tail(log, 1)
    printed = f"It printed: {last}" if last else "It printed nothing."
    return HarnessError(f"{why}. {printed}\nIts log: {saved_log}\n{tail(log, first=3)}".rstrip())


@dataclass(frozen=True)
class Running:
    """The servers of a run, in the order in which they started."""

    servers: tuple[Server, ...]

    @property
    def configs(self) -> dict[str, ServiceConfig]:
        """The servers by name, for the launcher of a worker."""
        return {server.service.name: server.config for server in self.servers}

    def cpu_s(self) -> float:
        """Returns the servers' CPU time so far. Raises ``HarnessError`` if one has ended."""
        try:
            return sum(request(server.config) for server in self.servers)
        except OSError as error:
            raise HarnessError(self.why_ended() or "a service ended during the run") from error

    def why_ended(self) -> str | None:
        """Returns the failure of the first server that has ended; ``None`` if all run."""
        return next(filter(None, (server.why_ended() for server in self.servers)), None)

    def last_words(self) -> str:
        """Returns the ends of the logs of servers that have ended."""
        logs = [server.log for server in self.servers if server.why_ended()]
        return "\n".join(f"{log.name}:\n{tail(log)}" for log in logs)


@contextmanager
def running(services: Sequence[Service], logs: Path, cache: Cache) -> Iterator[Running]:
    """Runs services, each started when the one before is ready. Raises ``HarnessError``."""
    with ExitStack() as stack:
        yield Running(tuple(stack.enter_context(_serving(it, logs, cache)) for it in services))
