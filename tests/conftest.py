"""Fixtures shared by all tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import runner
from tests import bisect_repository, standin
from tests.running import run
from waitbench.environments.repository import Repository
from waitbench.system.paths import ROOT, Cache

for _number in (signal.SIGHUP, signal.SIGINT):
    # Whatever started the suite may ignore some (nohup does); what we start is to have them.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        )

# Rounds count whatever else the machine does, such as the test beside this one.
os.environ["BENCH_UNWATCHED"] = "1"

PROGRAM = (sys.executable, str(ROOT / "tests" / "runner_with_standin.py"))
"""What runs a command: the command line, which compares the stand-in."""
Compare = Callable[..., subprocess.CompletedProcess[str]]
Said = Callable[..., tuple[int, str, str]]
Planned = tuple[Path, list[str]]
"""A made-up repository, and the ids of its commits."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts files first that start what is real: where several run at a time, the last are short."""
    slow = {one.path for one in items if any(map(one.get_closest_marker, ("integration", "long")))}
    real = {ROOT / "tests" / name for name in ("real", "faults", "cluster", "commands", "features")}
    items.sort(key=lambda one: (one.path not in slow, real.isdisjoint(one.path.parents)))


def written(factory: pytest.TempPathFactory, *costs: float | None) -> Planned:
    """A repository of the stand-in whose commits cost this."""
    folder = factory.mktemp("planned") / "repository"
    return folder, bisect_repository.write(folder, costs)


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
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without venv: virtualenv takes a tenth of its time to set something up."""
    python = tmp_path_factory.mktemp("python") / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" != venv ] && exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command in this process, as a new one would take a second: its exit code and output.

    What escapes is an error of the test.
    """

    def run_here(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["runner.py", *map(str, arguments)])
        code = runner.main()
        out, err = capsys.readouterr()
        return code, out, err

    return run_here


@pytest.fixture
def run_compare(tmp_path: Path) -> Compare:
    """Runs a command of the command line as a user would, but of the stand-in.

    The results of ``compare`` go into the test's own folder ``results``.
    """

    def run_command(
        *arguments: object, command: str = "compare", timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        given = [command, *arguments]
        if command == "compare" and "--results" not in given:
            given[1:1] = ["--results", tmp_path / "results"]
        return run(*PROGRAM, *given, timeout_s=timeout, env={"COLUMNS": "80"})

    return run_command
