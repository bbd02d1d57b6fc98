"""Fixtures shared by all tests."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests import standin
from waitbench.environments.repository import Repository
from waitbench.environments.virtualenvs import Facts
from waitbench.execution import services
from waitbench.execution.measure import Measurement
from waitbench.store.results import Context, Record
from waitbench.system.places import ROOT, Cache

Compare = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def repository_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A small repository, and the ids of its two commits."""
    folder = tmp_path_factory.mktemp("git") / "repository"
    return folder, standin.write_repository(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def repository(repository_folder: tuple[Path, dict[str, str]], cache: Cache) -> Repository:
    return Repository(str(repository_folder[0]), cache)


@pytest.fixture(scope="session")
def services_python() -> Path:
    """The Python that the services run on."""
    return services.make_environment(Cache(), lambda _what: None)


@pytest.fixture
def run_compare(tmp_path: Path) -> Compare:
    """Runs ``runner.py compare`` as a user would, with results in a folder of the test's own."""

    def run(*arguments: object, command: str = "compare", timeout: float = 300) -> subprocess.CompletedProcess[str]:
        results = [] if command != "compare" or "--results" in arguments else ["--results", str(tmp_path / "results")]
        return subprocess.run(
            [sys.executable, str(ROOT / "runner.py"), command, *map(str, arguments), *results],
            capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, "COLUMNS": "80"},
        )  # fmt: skip

    return run


def make_record(seconds: Mapping[str, Sequence[Mapping[str, float]]], **context: object) -> Record:
    """A record with the given metrics: one list of runs for each label, one dict of values by key for each run."""
    facts = Facts("wheel", None, "3.10.1", "/python", "0.0.1", {}, "", [], None, "bytewax.run", True).__dict__
    revisions = tuple(
        {"label": label, "text": label, **facts, "package_sha256": label, "extensions": {"x.so": label}}
        for label in seconds
    )
    base: dict[str, object] = {
        "revisions": revisions, "topology": "single", "mixed_origins": False, "hyperfine_version": "1.20.0",
        "machine": {"kernel": "Linux"}, "started_at": "2026-01-01T00:00:00+00:00", "argv": ("compare",),
    }  # fmt: skip
    record = Record("partitioned", {"partitions": 2}, Context(**{**base, **context}))  # type: ignore[arg-type]
    for position, (label, runs) in enumerate(seconds.items()):
        for number, metrics in enumerate(runs, 1):
            record.add(Measurement(label, number, position, "2026-01-01T00:00:00+00:00", metrics))
    return record


def times(real: float, user: float, system: float) -> dict[str, float]:
    """The metrics of one run."""
    return {"time_wall_clock": real, "time_user": user, "time_system": system, "time_cpu": user + system}
