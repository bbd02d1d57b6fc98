"""Services of the embedding study for tests: an embedder, perhaps with a proxy before it."""

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from waitbench.execution.services import running
from waitbench.model.scenario import Service
from waitbench.system.places import WORKERS, Cache

SCRIPTS = WORKERS / "embedding"


@dataclass(frozen=True)
class Served:
    """Services that are up."""

    urls: tuple[str, ...]
    pids: tuple[int, ...]

    @property
    def url(self) -> str:
        """Of the last, which clients ask."""
        return self.urls[-1]


@contextmanager
def served(
    python: Path, logs: Path, proxy: Mapping[str, str], url: str | None = None
) -> Iterator[Served]:
    """A proxy before an embedder, or before somebody else's at ``url``."""
    upstream = [url] if url else []

    def embeds(port: int, _folder: Path, python: Path) -> Sequence[str]:
        upstream[:] = [f"http://127.0.0.1:{port}"]
        return command(python, "embedder", port, {})

    def proxies(port: int, _folder: Path, python: Path) -> Sequence[str]:
        return command(python, "proxy", port, {**proxy, "INFERENCE_SERVICE_URL": upstream[0]})

    services = [Service(name="proxy", command=proxies, is_up=_is_healthy)]
    if url is None:
        services.insert(0, Service(name="embedder", command=embeds, is_up=_is_healthy))
    with running(python, services, logs, Cache()) as up:
        yield Served(
            tuple(f"http://127.0.0.1:{server.port}" for server in up.servers),
            tuple(server.pid for server in up.servers),
        )


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def command(python: Path, name: str, port: int, settings: Mapping[str, str]) -> Sequence[str]:
    """The command line of one of them."""
    given = [f"{key}={value}" for key, value in settings.items()]
    return ["env", f"PORT={port}", *given, str(python), str(SCRIPTS / f"{name}.py")]
