"""Comparisons of a worker that is a command, with a service, that are killed at any moment.

FAULT_TRIALS says how many: a hundred take a quarter of an hour. FAULT_WORKER and FAULT_REVISION
name another worker file than this one, such as ``workers/queues/rq.toml`` and ``2.2.0``.
"""

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.faults.clones import GONE_WITHIN_S, Clone

pytestmark = pytest.mark.integration

TRIALS = int(os.environ.get("FAULT_TRIALS", "3"))
WORKER = """
import os, signal, socket, sys, time
def end(*_):
    os.kill(child, 9)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
child = os.fork()
if child == 0:
    os.setsid()
    while True: time.sleep(0.1)
jobs = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
jobs.sendall(b"BLPOP jobs 0\\r\\n")
print("up")
while b"job" not in jobs.recv(999): pass
print("done")
while True: time.sleep(99)
"""
FILE = """
command = "{revision} {here}/code.py {redis.port}"
ready = { log = "up" }
settled = { seconds = 0.2 }
stop_within = 5
[services.redis]
command = "redis-server --port {port} --bind 127.0.0.1 --save '' --dir {folder}"
ready = { command = "redis-cli -p {port} ping" }
[poke]
command = "redis-cli -p {redis.port} lpush jobs job"
done = { log = "done" }
"""


@dataclass
class Killed:
    """What is killed, how long it takes if it is not, and how long it took to be gone."""

    clone: Clone
    arguments: list[str]
    length_s: float = 0.0
    gone_s: list[float] = field(default_factory=list)

    def runs(self) -> list[Path]:
        """Folders of runs, and their locks."""
        return sorted((self.clone.cache / "runs").glob("*"))


@pytest.fixture(scope="module")
def killed(shared_clone: Clone) -> Iterator[Killed]:
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server: apt-get install redis-server")
    named = os.environ.get("FAULT_WORKER")
    worker = Path(named).resolve() if named else shared_clone.root / "mine.toml"
    if not named:
        (shared_clone.root / "code.py").write_text(WORKER)
        worker.write_text(FILE)
    arguments = [
        os.environ.get("FAULT_REVISION", sys.executable), "--worker", str(worker), "--no-plot",
        "--rounds", "1", "--set", "window=1",
    ]  # fmt: skip
    found = Killed(shared_clone, arguments)
    for name in ("first", "second"):  # the first sets up what is needed
        begun = time.monotonic()
        done = shared_clone.run(*arguments, "--results", shared_clone.root / f"whole-{name}")
        assert done.returncode == 0, done.stdout + done.stderr
        found.length_s = time.monotonic() - begun
    yield found
    if found.gone_s:
        print(
            f"\n{len(found.gone_s)} kills at any moment of {found.length_s:.1f} s; all was gone "
            f"after {sorted(found.gone_s)[len(found.gone_s) // 2]:.2f} s (median), at most "
            f"{max(found.gone_s):.2f} s"
        )


@pytest.mark.parametrize("part", range(TRIALS))
def test_a_kill_leaves_no_worker_no_service_and_no_folder(part: int, killed: Killed) -> None:
    moment_s = (part + random.random()) / TRIALS * killed.length_s
    results = killed.clone.root / f"killed-{part}"
    process = killed.clone.start(*killed.arguments, "--results", results)
    with suppress(Exception):
        process.wait(moment_s)
    process.kill()
    begun = time.monotonic()
    process.communicate()
    while (killed.runs() or killed.clone.running()) and time.monotonic() < begun + GONE_WITHIN_S:
        time.sleep(0.02)
    killed.gone_s.append(time.monotonic() - begun)
    assert (killed.clone.running(), killed.runs()) == ([], []), f"{moment_s:.2f} s after its start"
