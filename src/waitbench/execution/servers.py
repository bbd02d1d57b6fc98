"""A Service -> a running server on a free port, and what becomes of it."""

import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Service
from waitbench.system import variables
from waitbench.system.places import ROOT, Cache
from waitbench.system.processes import tail

_READY_WITHIN_S = 30.0
_ENDS_WITHIN_S = 10.0


@dataclass(frozen=True)
class Server:
    """One service that is up."""

    service: Service
    pid: int
    url: str
    log: Path
    process: "subprocess.Popen[bytes]" = field(repr=False, compare=False)
    listeners: list[Callable[[], None]] = field(default_factory=list, repr=False, compare=False)
    """Called if it ends by itself."""

    def ended(self) -> str | None:
        """What is to be said of it if it has ended by itself."""
        code = self.process.poll()
        if code is None:
            return None
        last = tail(self.log, 1)
        return f"the {self.service.name} ended, with exit code {code}{': ' if last else ''}{last}"


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    python: Path, service: Service, upstream: str | None, logs: Path, cache: Cache
) -> Iterator[Server]:
    """A server of a service, for the time of the block. Raises ``HarnessError``."""
    more = prepared(service, cache, lambda _what: None)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = logs / f"service-{service.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(python), "-m", f"services.{service.module or service.name}"],
            # Away from any .env of the user's.
            cwd=logs,
            env={**_environment(service, upstream, port), **more},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    told = threading.Event()
    server = Server(service, process.pid, url, log, process)
    threading.Thread(target=_watch, args=(server, told), daemon=True).start()
    try:
        _wait_until_ready(server, upstream, cache)
        yield server
    finally:
        told.set()
        process.terminate()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()


def _watch(server: Server, told: threading.Event) -> None:
    """Blocks until a server ends; tells who listens, unless it was told to end."""
    server.process.wait()
    if not told.is_set():
        for call in list(server.listeners):
            call()


def prepared(service: Service, cache: Cache, say: Callable[[str], None]) -> Mapping[str, str]:
    """Gets what a service runs on; settings that say where it is. Raises ``HarnessError``."""
    return service.prepare(cache.folder("services"), say) if service.prepare else {}


def cpu_s(pid: int) -> float:
    """What a process and those that it has started have used. Raises ``HarnessError`` if gone."""
    try:
        process = psutil.Process(pid)
        times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    except psutil.NoSuchProcess as error:
        raise HarnessError("a service ended during the run") from error
    return sum(one.user + one.system for one in times)


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


def _wait_until_ready(server: Server, upstream: str | None, cache: Cache) -> None:
    """Returns when a server is up.

    Raises ``HarnessError`` where it is not in time; its log is kept then.
    """
    process, is_up = server.process, server.service.is_up or _is_healthy
    end = time.monotonic() + _READY_WITHIN_S
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
        f"The service {server.service.name} {how}: {last}.{used} Its log: {kept}\n"
        f"{tail(server.log)}".rstrip()
    )


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False
