"""ServicePlans -> running servers: an embedding service, and perhaps a proxy before it, on free ports, for as long as a run."""

import hashlib
import json
import os
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

from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.scenario import ServicePlan
from waitbench.system.places import ROOT, SERVICES, Cache
from waitbench.system.processes import run_logged, tail

URL_VARIABLE = "BENCH_SERVICE_URL"
"""Environment variable by which a workload learns where its service is."""

_READY_WITHIN_S = 30.0
_ENDS_WITHIN_S = 10.0


def make_environment(cache: Cache, say: Callable[[str], None]) -> Path:
    """The Python of a virtualenv with what the services need, made once. Raises ``HarnessError``."""
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
            run_logged([str(python), "-m", "pip", "install", "--no-input", "-r", str(requirements)], log)
            done.touch()
    return python


@dataclass
class Running:
    """Servers that are up."""

    url: str
    """Where clients go."""
    embedder_url: str
    pids: Mapping[str, int]
    """By name: ``embedder``, ``proxy``."""

    def cpu_s(self) -> dict[str, float]:
        """User and system time of each so far, in seconds."""
        used = {name: psutil.Process(pid).cpu_times() for name, pid in self.pids.items()}
        return {name: times.user + times.system for name, times in used.items()}

    def upstream_calls(self) -> int | None:
        """Calls that the proxy has made; ``None`` without one."""
        if "proxy" not in self.pids:
            return None
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as response:
            lines = response.read().decode().splitlines()
        (count,) = (line.split()[1] for line in lines if line.startswith("proxy_upstream_seconds_count"))
        return int(float(count))


@contextmanager
def running(python: Path, plan: ServicePlan, logs: Path) -> Iterator[Running]:
    """Starts what a plan says, waits until it answers, and stops it. Raises ``HarnessError`` with a service's last words."""
    with ExitStack() as stack:
        pids = {}
        if isinstance(plan.embedder, str):
            url = plan.embedder.rstrip("/")
        else:
            pids["embedder"], url = stack.enter_context(_serve(python, "embedder", plan.embedder, logs))
        client_url = url
        if plan.proxy is not None:
            settings = {**plan.proxy, "INFERENCE_SERVICE_URL": url}
            pids["proxy"], client_url = stack.enter_context(_serve(python, "proxy", settings, logs))
        yield Running(client_url, url, pids)


@contextmanager
def _serve(python: Path, name: str, settings: Mapping[str, str], logs: Path) -> Iterator[tuple[int, str]]:
    port = free_port()
    log = logs / f"service-{name}.log"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BENCH_"))},
        "EXIT_WITH_STDIN": "1",
        "IP": "127.0.0.1",
        "PORT": str(port),
        **settings,
        "PYTHONPATH": str(ROOT),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            # Away from any .env of the user's.
            [str(python), "-m", f"services.{name}"],
            cwd=logs, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        _until_ready(process, f"http://127.0.0.1:{port}", name, log)
        yield process.pid, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None, "opened with a pipe"
        process.stdin.close()


def _until_ready(process: subprocess.Popen[bytes], url: str, name: str, log: Path) -> None:
    end = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    how = f"ended with exit code {process.returncode}" if process.poll() is not None else "does not answer"
    raise HarnessError(f"The service {name} {how}. The end of {log}:\n{tail(log)}")


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def describe(url: str) -> Mapping[str, object]:
    """What a service says of itself at ``/info``. Raises ``UsageError`` for what is no URL, ``HarnessError`` where nothing answers."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {url!r} is no URL, such as http://127.0.0.1:8080")
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/info", timeout=10) as response:
            found: Mapping[str, object] = json.load(response)
            return found
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise HarnessError(f"{url}/info does not answer as an embedding service does: {error}.") from error
