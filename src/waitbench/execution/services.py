"""ServicePlans -> running servers, one behind the other, on free ports, for as long as a run."""

import hashlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from filelock import FileLock

from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Service, ServicePlan
from waitbench.system import variables
from waitbench.system.places import ROOT, SERVICES, Cache
from waitbench.system.processes import tail
from waitbench.system.steps import run_logged

URL_VARIABLE = "BENCH_SERVICE_URL"
"""Environment variable by which a workload learns where its service is."""

_READY_WITHIN_S = 30.0
_ENDS_WITHIN_S = 10.0


def make_environment(cache: Cache, say: Callable[[str], None]) -> Path:
    """The Python of a virtualenv with what the services need, made once.

    Raises ``HarnessError`` where it cannot be made.
    """
    requirements = SERVICES / "requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache.folder("services") / key
    python = folder / "bin" / "python"
    with FileLock(cache.lock_file(f"services-{key}")):
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
class Server:
    """One service that is up."""

    service: Service
    pid: int
    url: str


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

    def cpu_s(self) -> dict[str, float]:
        """User and system time of each of our servers so far, in seconds, by name."""
        used = {s.service.name: psutil.Process(s.pid).cpu_times() for s in self.servers}
        return {name: times.user + times.system for name, times in used.items()}

    def counters(self) -> dict[str, float]:
        """What the servers count themselves so far, by the metric's key."""
        return {
            key: count
            for server in self.servers
            for key, count in server.service.counters(server.url).items()
        }


@contextmanager
def running(python: Path, plan: ServicePlan, logs: Path) -> Iterator[Running]:
    """Starts each service of a plan when the one before it answers, and stops them afterwards.

    Warms them up as the plan has it. Raises ``HarnessError`` with the last words of a service that
    does not start.
    """
    urls = [plan.url.rstrip("/")] if plan.url else []
    servers: list[Server] = []
    with ExitStack() as stack:
        for service in plan.services:
            upstream = urls[-1] if urls else None
            server = stack.enter_context(_serve(python, service, upstream, logs))
            servers.append(server)
            urls.append(server.url)
        up = Running(tuple(servers), tuple(urls))
        plan.warm_up(up.url)
        yield up


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _serve(python: Path, service: Service, upstream: str | None, logs: Path) -> Iterator[Server]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = logs / f"service-{service.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(python), "-m", f"services.{service.name}"],
            # Away from any .env of the user's.
            cwd=logs,
            env=_environment(service, upstream, port),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, url, service.name, log)
        yield Server(service, process.pid, url)
    finally:
        process.terminate()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()


def _environment(service: Service, upstream: str | None, port: int) -> Mapping[str, str]:
    of_upstream = {}
    if service.upstream_variable is not None:
        assert upstream is not None, "a service with an upstream is not the first of its plan"
        of_upstream = {service.upstream_variable: upstream}
    return {
        **variables.of_workload(),
        "EXIT_WITH_STDIN": "1",
        "IP": "127.0.0.1",
        "PORT": str(port),
        **service.settings,
        **of_upstream,
        "PYTHONPATH": str(ROOT),
    }


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, name: str, log: Path) -> None:
    """Returns when ``/health`` answers. Raises ``HarnessError`` where it does not in time."""
    end = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    how = (
        "does not answer"
        if process.poll() is None
        else f"ended with exit code {process.returncode}"
    )
    raise HarnessError(f"The service {name} {how}. The end of {log}:\n{tail(log)}")
