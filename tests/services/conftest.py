"""What several tests of the services start."""

from collections.abc import Iterator

import pytest

from tests.services import upstreams
from tests.services.upstreams import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with upstreams.running(Upstream()) as found:
        yield found
