"""What several tests of the services start."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import upstreams
from tests.services.proxied import LONG, proxy
from tests.services.upstreams import Upstream

Before = tuple[str, Upstream]
"""Where a proxy is, and what it stands before."""


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstreams.running(Upstream()) as found:
        yield found


@pytest.fixture(scope="session")
def proxy_of_all(
    services_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Before]:
    with (
        upstreams.running(Upstream()) as upstream,
        proxy(
            services_python,
            tmp_path_factory.mktemp("logs"),
            upstream,
            {**LONG, "MAX_BATCH_SIZE": "4"},
        ) as found,
    ):
        yield found.url, upstream


@pytest.fixture
def fours(proxy_of_all: Before) -> Before:
    """A proxy whose batches leave when they have four requests, however long these take to come."""
    proxy_of_all[1].reset()
    return proxy_of_all
