"""What several tests of the services start."""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.workers.embedding import upstreams
from tests.workers.embedding.proxied import LONG, Served, served
from tests.workers.embedding.upstreams import Upstream
from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import HarnessError
from waitbench.system.locks import locked
from waitbench.system.paths import WORKERS, Cache
from waitbench.system.processes import run_logged

Serve = Callable[[Mapping[str, str]], Served]
Before = tuple[str, Upstream]
"""Where a proxy is, and what it stands before."""


@pytest.fixture(scope="session")
def services_python() -> Path:
    """The Python of a virtualenv with the packages of the worker file, made once."""
    packages = worker_file.read(WORKERS / "embedding" / "load.toml").extra_requirements
    key = hashlib.sha256(repr((sys.version, packages)).encode()).hexdigest()[:16]
    cache = Cache()
    folder = cache.folder("services") / key
    python, log = folder / "bin" / "python", cache.folder("logs") / "services.log"
    with locked(cache.lock_file(f"services-{key}"), lambda _what: None):
        if not (folder / "done").exists():
            run_logged([sys.executable, "-m", "virtualenv", "--clear", str(folder)], log)
            try:
                run_logged([str(python), "-m", "pip", "install", "--no-input", *packages], log)
            except HarnessError as error:
                pytest.skip(f"a package of the services cannot be installed here: {error}")
            (folder / "done").touch()
    return python


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstreams.running() as found:
        yield found


@pytest.fixture
def serve(services_python: Path, tmp_path: Path, upstream: Upstream) -> Iterator[Serve]:
    """Starts a proxy with these settings before the upstream."""
    with ExitStack() as up:
        yield lambda settings: up.enter_context(
            served(services_python, tmp_path, settings, upstream.url)
        )


@pytest.fixture(scope="session")
def proxy_of_all(
    services_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Before]:
    settings, logs = {**LONG, "MAX_BATCH_SIZE": "4"}, tmp_path_factory.mktemp("logs")
    with (
        upstreams.running() as upstream,
        served(services_python, logs, settings, upstream.url) as found,
    ):
        yield found.url, upstream


@pytest.fixture
def fours(proxy_of_all: Before) -> Before:
    """A proxy whose batches leave when they have four requests, however long these take to come."""
    proxy_of_all[1].reset()
    return proxy_of_all
