"""ServicePlans -> running servers, one behind the other, for as long as a run or a comparison.

Each is a process of its own on a free port, and is ready before anybody asks it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.execution.service_launch import ENDS_WITHIN_S
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Service, ServicePlan
from waitbench.system import variables
from waitbench.system.counters import asked
from waitbench.system.guard import GUARD
from waitbench.system.locks import locked
from waitbench.system.places import ROOT, SERVICES, Cache
from waitbench.system.ports import free_port
from waitbench.system.processes import run_logged, tail

_LAUNCH = Path(__file__).with_name("service_launch.py")
_SPARE_S = 10.0
"""What our launcher may take to end beyond what its service may."""


@dataclass(frozen=True)
class Server:
    """One service that is up."""

    service: Service
    pid: int
    cpu: str
    """Under what its CPU time is told: system/counters.py."""
    url: str
    log: Path
    process: "subprocess.Popen[bytes]" = field(repr=False, compare=False)
    folder: Path
    """Where it runs."""
    counting: Sequence[str] = ()
    """The command that prints what it has counted, if there is one."""
    listeners: list[Callable[[], None]] = field(default_factory=list, repr=False, compare=False)
    """Called if it ends by itself."""

    def cpu_s(self) -> float:
        """What it and all that it has started have used. Raises ``HarnessError`` if gone."""
        try:
            return asked(self.cpu) / 1e9
        except OSError as error:
            raise HarnessError(f"the {self.service.name} ended during the run") from error

    def ended(self) -> str | None:
        """What is to be said of it if it has ended by itself."""
        code = self.process.poll()
        if code is None:
            return None
        last = tail(self.log, 1)
        return f"the {self.service.name} ended, with exit code {code}{': ' if last else ''}{last}"


@contextmanager
def serving(
    python: Path | None, service: Service, upstream: str | None, logs: Path, cache: Cache
) -> Iterator[Server]:
    """A server of a service, for the time of the block. Raises ``HarnessError``."""
    more = prepared(service, cache, lambda _what: None)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = logs / f"service-{service.name}.log"
    folder = logs
    assert python is not None, "prepared for services"
    if service.command is not None:
        folder = logs / f"service-{service.name}"
        folder.mkdir()
        words = list(service.command(port, folder, python))
    else:
        words = [str(python), "-m", f"services.{service.module or service.name}"]
    reading, writing = os.pipe()
    with log.open("wb") as output, os.fdopen(reading) as report:
        process = subprocess.Popen(
            [sys.executable, "-I", str(_LAUNCH), str(writing), *words],
            # Away from any .env of the user's.
            cwd=folder,
            env={**_environment(service, upstream, port, logs, cache), **more},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=[writing],
        )
        os.close(writing)
        GUARD.watch(process.pid)
        pid, cpu = report.readline().split() or ("0", "")
    told = threading.Event()
    counting = service.counting(port, folder, python) if service.counting else ()
    server = Server(service, int(pid), cpu, url, log, process, folder, counting)
    threading.Thread(target=_watch, args=(server, told), daemon=True).start()
    try:
        _wait_until_ready(server, upstream, cache)
        yield server
    finally:
        told.set()
        process.terminate()
        try:
            process.wait(ENDS_WITHIN_S + _SPARE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()
        GUARD.release(process.pid)


def _watch(server: Server, told: threading.Event) -> None:
    """Blocks until a server ends; tells who listens, unless it was told to end."""
    server.process.wait()
    if not told.is_set():
        for call in list(server.listeners):
            call()


def prepared(service: Service, cache: Cache, say: Callable[[str], None]) -> Mapping[str, str]:
    """Gets what a service runs on; settings that say where it is. Raises ``HarnessError``."""
    return service.prepare(cache.folder("services"), say) if service.prepare else {}


def _environment(
    service: Service, upstream: str | None, port: int, logs: Path, cache: Cache
) -> Mapping[str, str]:
    if service.command is not None:
        # By the folder, which names the harness, the guard finds what leaves its group.
        return {
            **variables.of_workload(),
            "WAITBENCH_RUN": str(logs),
            "WAITBENCH_CACHE": str(cache.root),
        }
    of_upstream = {}
    if service.upstream_variable is not None:
        assert upstream is not None, "a service with an upstream is not the first of its plan"
        of_upstream = {service.upstream_variable: upstream}
    return {
        **variables.of_workload(),
        "IP": "127.0.0.1",
        "PORT": str(port),
        **service.settings,
        **of_upstream,
        "PYTHONPATH": str(ROOT),
    }


def _wait_until_ready(server: Server, upstream: str | None, cache: Cache) -> None:
    """Returns when a server is up.

    Raises ``HarnessError`` where it is not in time; its log is kept then.
    """
    process, is_up = server.process, server.service.is_up or _is_healthy
    service_s = server.service.ready_within_s
    end = time.monotonic() + service_s
    while time.monotonic() < end and process.poll() is None:
        if is_up(server.url):
            return
        time.sleep(0.05)
    how = (
        "does not answer"
        if process.poll() is None
        else f"ended with exit code {process.returncode}"
    )
    kept = cache.folder("logs") / server.log.name
    shutil.copyfile(server.log, kept)
    last = tail(server.log, 1) or "it printed nothing"
    used = f" It was to use {upstream}." if upstream is not None else ""
    raise HarnessError(
        f"The service {server.service.name} {how}: {last}.{used}\nIts log: {kept}\n"
        f"{tail(server.log)}".rstrip()
    )


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


URL_VARIABLE = "BENCH_SERVICE_URL"
"""Environment variable by which a workload learns where its service is."""


def make_environment(cache: Cache, say: Callable[[str], None]) -> Path:
    """The Python of a virtualenv with what the services need, made once.

    Raises ``HarnessError`` where it cannot be made.
    """
    requirements = SERVICES / "requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache.folder("services") / key
    python = folder / "bin" / "python"
    with locked(cache.lock_file(f"services-{key}"), say):
        done = folder / "done"
        if not done.exists():
            say("setting up the services")
            log = cache.folder("logs") / "services.log"
            log.unlink(missing_ok=True)
            run_logged([sys.executable, "-m", "virtualenv", "--clear", str(folder)], log)
            pip = [str(python), "-m", "pip", "install", "--no-input", "--require-hashes"]
            run_logged([*pip, "-r", str(requirements)], log)
            done.touch()
    return python


@dataclass(frozen=True)
class Running:
    """The servers of a plan, all of them up."""

    servers: tuple[Server, ...]
    """In the plan's order."""
    urls: tuple[str, ...]
    """All stops on the way, in the plan's order: somebody else's first, if there is one."""

    @property
    def url(self) -> str:
        """Where clients go: the last stop."""
        return self.urls[-1]

    def described(self) -> dict[str, dict[str, object]]:
        """What the launcher of a command is told of each: execution/worker_launch.py."""
        return {
            server.service.name: {
                "cpu": server.cpu,
                "port": int(server.url.rpartition(":")[2]),
                "folder": str(server.folder),
                "counters": list(server.counting),
            }
            for server in self.servers
        }

    def cpu_s(self) -> dict[str, float]:
        """User and system time of each of our servers so far, in seconds, by name.

        Raises ``HarnessError`` where one has ended.
        """
        with self.blamed():
            return {server.service.name: server.cpu_s() for server in self.servers}

    def ended(self) -> str | None:
        """What is to be said of the first server that has ended by itself, if one has."""
        return next(filter(None, (server.ended() for server in self.servers)), None)

    def last_words(self) -> str:
        """The end of the log of each server that has ended by itself."""
        logs = [server.log for server in self.servers if server.ended()]
        return "\n".join(f"{log.name}:\n{tail(log)}" for log in logs)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Raises ``HarnessError`` after the block where a server has ended by itself.

        Whatever else was met is what came of that.
        """
        try:
            yield
        except HarnessError as error:
            ended = self.ended()
            if ended is None:
                raise
            raise HarnessError(f"{ended} ({error})") from error
        ended = self.ended()
        if ended is not None:
            raise HarnessError(ended)

    @contextmanager
    def on_end(self, call: Callable[[], None]) -> Iterator[None]:
        """Calls, from a thread, when a server ends by itself within the block."""
        for server in self.servers:
            server.listeners.append(call)
        try:
            if self.ended():
                call()
            yield
        finally:
            for server in self.servers:
                server.listeners.remove(call)

    def counters(self) -> dict[str, float]:
        """What the servers count themselves so far, by the metric's key."""
        return {
            key: count
            for server in self.servers
            for key, count in server.service.counters(server.url).items()
        }


def prepare(plan: ServicePlan, cache: Cache, say: Callable[[str], None]) -> None:
    """Gets what the services of a plan run on. Raises ``HarnessError``."""
    for service in plan.services:
        prepared(service, cache, say)


@contextmanager
def running(
    python: Path | None,
    plan: ServicePlan,
    logs: Path,
    cache: Cache | None = None,
) -> Iterator[Running]:
    """Starts each service of a plan when the one before it answers, and stops them afterwards.

    Warms them up as the plan has it. Raises ``HarnessError`` with the last words of a service that
    does not start.
    """
    urls = [plan.url.rstrip("/")] if plan.url else []
    servers: list[Server] = []
    with ExitStack() as stack:
        for service in plan.services:
            upstream = urls[-1] if urls else None
            server = stack.enter_context(serving(python, service, upstream, logs, cache or Cache()))
            servers.append(server)
            urls.append(server.url)
        up = Running(tuple(servers), tuple(urls))
        with up.blamed():
            plan.warm_up(up.url)
        yield up
