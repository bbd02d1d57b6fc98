"""Services of the embedding study for tests: an embedder, perhaps with a proxy before it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from waitbench.engines.services import Service
from waitbench.execution.services import running
from waitbench.model.worker import Condition, ServiceFile, Words
from waitbench.system.places import WORKERS, Cache

SCRIPTS = WORKERS / "embedding"
HEALTHY = "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/health', timeout=5)"


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
    values = {"python": str(python), "here": str(SCRIPTS)}
    services = [_service("embedder", {}, values)] if url is None else []
    settings = {**proxy, "INFERENCE_SERVICE_URL": url or "http://127.0.0.1:{embedder.port}"}
    services.append(_service("proxy", settings, values))
    with running(services, logs, Cache()) as up:
        yield Served(
            tuple(f"http://127.0.0.1:{server.port}" for server in up.servers),
            tuple(server.pid for server in up.servers),
        )


def _service(name: str, settings: Mapping[str, str], values: dict[str, str]) -> Service:
    words = command(Path("{python}"), name, "{port}", settings)
    ready = Condition(command=Words((sys.executable, "-c", HEALTHY)))
    file = ServiceFile(command=Words(words), ready=ready)
    return Service(name=name, file=file, values=values)


def command(python: Path, name: str, port: int | str, settings: Mapping[str, str]) -> Sequence[str]:
    """The command line of one of them."""
    given = [f"{key}={value}" for key, value in settings.items()]
    return ["env", f"PORT={port}", *given, str(python), str(SCRIPTS / f"{name}.py")]
