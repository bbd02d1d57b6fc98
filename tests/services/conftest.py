"""What several tests of the services start."""

from collections.abc import Iterator

import pytest

from benchmarks import upstreams
from benchmarks.upstreams import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstreams.running(Upstream()) as found:
        yield found
