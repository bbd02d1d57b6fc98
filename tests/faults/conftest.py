"""Fixtures of tests that break things."""

import socket
from collections.abc import Iterator

import pytest

from tests.faults import clones
from tests.faults.clones import Clone


@pytest.fixture(scope="session")
def shared_clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone that several tests use, so that what it has set up is set up once."""
    return clones.make(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="session")
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"
