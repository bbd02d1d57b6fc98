"""dask's own scheduler and workers, as processes on loopback that end with their test."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.running import command_line
from tests.waiting import until
from waitbench.system.paths import ROOT

QUIET = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
WORKER = ("--nthreads", "1", "--no-nanny", "--no-dashboard")


@dataclass
class Cluster:
    """A scheduler and its workers."""

    folder: Path
    stack: ExitStack
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    address: str = ""

    def start(self) -> None:
        """Starts the scheduler."""
        self.folder.mkdir(exist_ok=True)
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self._start("scheduler", "scheduler", *options)
        log = self.folder / "scheduler.log"
        until(lambda: "Scheduler at:" in log.read_text())
        line = next(line for line in log.read_text().splitlines() if "Scheduler at:" in line)
        self.address = line.split()[-1]

    def add(self, name: str, *options: str) -> "subprocess.Popen[bytes]":
        """Starts a worker, and returns when it has joined."""
        kept = ("--name", name, "--local-directory", str(self.folder / name))
        loaded = ("--preload", str(ROOT / "tests" / "features" / "cluster" / "preload.py"))
        process = self._start(name, "worker", self.address, *(options or WORKER), *kept, *loaded)
        log = self.folder / f"{name}.log"
        until(lambda: "Registered to:" in log.read_text())
        return process

    def _start(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **QUIET},
            )
        self.processes[name] = process
        self.stack.callback(_end, process)
        return process

    def shards(self, name: str) -> list[psutil.Process]:
        """The processes of shards that a worker has started."""
        children = psutil.Process(self.processes[name].pid).children()
        return [it for it in children if "shard_with_standin" in str(command_line(it))]

    def busy(self) -> str:
        """The name of a worker that measures a shard; blocks until there is one."""
        names = [name for name in self.processes if name != "scheduler"]
        until(lambda: any(map(self.shards, names)), each_s=0.05)
        return next(name for name in names if self.shards(name))


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def started(folder: Path, *names: str) -> Iterator[Cluster]:
    """A cluster that has workers of these names."""
    with ExitStack() as stack:
        made = Cluster(folder, stack)
        made.start()
        for name in names:
            made.add(name)
        yield made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One with two workers, ``x`` and ``y``, that several tests share."""
    with started(tmp_path_factory.mktemp("cluster"), "x", "y") as made:
        yield made
