"""A cluster that many tests share: to start one takes longer than most of what they ask of it."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clusters import cluster


@dataclass(frozen=True)
class Shared:
    """A scheduler with two workers, ``x`` and ``y``."""

    address: str
    caches: tuple[Path, ...]
    processes: tuple["subprocess.Popen[str]", ...]


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, "xy") as (address, processes):
        yield Shared(address, (folder / "x", folder / "y"), tuple(processes.values()))
