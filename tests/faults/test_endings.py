"""Comparisons that are killed, or told to end, at any moment.

Moments are random, and FAULT_TRIALS says how many: a hundred take half an hour.
"""

import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, cycle, product
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.faults.clones import QUICK, Clone, rounds_in

pytestmark = pytest.mark.integration

TRIALS = int(os.environ.get("FAULT_TRIALS", "3"))
ASKED = cycle(product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), (1, 3)))
MANNERS = [next(ASKED) for _ in range(TRIALS)]

STAYS = """do
import re
harness = re.search(r"/runs/(\\d+)-", os.environ["BENCH_PROBE_DIR"])[1]
time.sleep(0.3)
while not os.path.exists("/proc/" + harness):
    time.sleep(0.1)"""
"""A run that would never end, if it were left behind."""
STARTED_WITHIN_S = 60
_number = count()


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


def of_dataflow(clone: Clone, number: int) -> list[str]:
    """What is compared: of a dataflow, whose revision nothing is set up for yet."""
    wheel = clone.wheel(f"{number}", f"{STAYS}  # {number}")
    return [f"A={wheel}", f"B={wheel}", *QUICK]


def of_worker(clone: Clone, _number: int) -> list[str]:
    """Of a worker that is a command, with a child in another session and a service."""
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server: apt-get install redis-server")
    (clone.root / "code.py").write_text(WORKER)
    (clone.root / "mine.toml").write_text(FILE)
    worker = str(clone.root / "mine.toml")
    return [f"A={sys.executable}", "--worker", worker, "--set", "window=0.5"]


Of = Callable[[Clone, int], list[str]]


class Comparison:
    """A comparison of two rounds."""

    def __init__(self, clone: Clone, of: Of) -> None:
        number = next(_number)
        self.results = clone.root / f"results-{number}"
        self.arguments = [*of(clone, number), "--rounds", "2", "--results", str(self.results)]
        self.process = clone.start(*self.arguments)
        wait_for_its_handlers(self.process.pid)


def wait_for_its_handlers(pid: int) -> None:
    """Blocks until a process handles its signals: before, the system ends it, and all is said."""
    bit = 1 << (signal.SIGHUP - 1)
    end = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < end:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        if caught & bit and "runner" in " ".join(psutil.Process(pid).cmdline()):
            return
        time.sleep(0.005)
    pytest.fail("it never began to handle signals")


Strike = Callable[[Of, int, Callable[[Comparison], None]], Comparison]


@pytest.fixture(scope="module")
def strike(shared_clone: Clone) -> Iterator[Strike]:
    """Has something happen to a comparison, at a random moment of one of TRIALS equal parts."""

    @functools.cache
    def length_s(of: Of) -> float:
        """How long such a comparison takes that nothing happens to."""
        one = Comparison(shared_clone, of)
        begun = time.monotonic()
        stdout, stderr = one.process.communicate(timeout=120)
        assert one.process.returncode == 0, stdout + stderr
        return time.monotonic() - begun

    def strike(of: Of, part: int, blow: Callable[[Comparison], None]) -> Comparison:
        moment_s = (part + random.random()) / TRIALS * length_s(of)
        while True:
            one = Comparison(shared_clone, of)
            with suppress(Exception):
                one.process.wait(moment_s)
            if one.process.poll() is None:
                blow(one)
                if one.process.returncode != 0:
                    return one
            # It was over before: this one was faster than the first.
            moment_s *= 0.9

    yield strike
    shutil.rmtree(shared_clone.cache / "environments", ignore_errors=True)


@pytest.mark.parametrize("part", range(TRIALS))
@pytest.mark.parametrize("of", [of_dataflow, of_worker])
def test_what_was_measured_survives_a_kill_and_nothing_else_does(
    of: Of, part: int, strike: Strike, shared_clone: Clone
) -> None:
    def kill(one: Comparison) -> None:
        one.process.kill()
        one.process.communicate()

    one = strike(of, part, kill)
    assert shared_clone.left() == []
    kept = rounds_in(one.results)
    done = shared_clone.run(*one.arguments, "--no-plot", "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(rounds == [1, 2] for rounds in rounds_in(one.results).values()), kept
    assert shared_clone.halves() == []


@pytest.mark.parametrize(("part", "number", "times"), [(n, *m) for n, m in enumerate(MANNERS)])
def test_a_signal_ends_it_with_130_at_any_moment_and_nothing_is_left(
    part: int, times: int, number: signal.Signals, strike: Strike, shared_clone: Clone
) -> None:
    said: list[str] = []

    def tell(one: Comparison) -> None:
        said[:] = told_to_end(one.process, number, times)

    one = strike(of_dataflow, part, tell)
    assert one.process.returncode == 130, said
    assert shared_clone.left() == []
    assert_said_truly(said[1], one.results)


def told_to_end(
    process: "subprocess.Popen[str]", number: signal.Signals, times: int
) -> tuple[str, str]:
    """What a comparison says that gets a signal, so many times."""
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.02)
    return process.communicate(timeout=60)


def assert_said_truly(stderr: str, results: Path) -> None:
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    kept = rounds_in(results)
    if "Nothing had been measured" in stderr:
        assert not any(kept.values())
    else:
        assert f"kept in {results}; the same command with --resume" in stderr
        assert results.is_dir()


STATIONS = {
    "lookup": "compile",
    "fetch": "fetch",
    "build": "wheel",
    "import": "import standin.run",
    "run": "standin.run",
}
"""An argument of the program that never ends, by what the comparison is at."""


def stuck_in(station: str, clone: Clone, silent: str) -> tuple[list[str], dict[str, str]]:
    """A comparison that gets no further than a station; its arguments and its environment."""
    if station == "lookup":
        index = {"PIP_INDEX_URL": f"http://{silent}/simple", "PIP_NO_INDEX": "0"}
        return ["r0.0.1"], index
    if station == "fetch":
        return ["main", "--repo", f"http://{silent}/repository.git"], {}
    if station == "build":
        return [str(checkout_that_hangs(clone.root / "checkout"))], {}
    behaviour = {"import": "stuck", "run": "hang"}[station]
    return [clone.wheel(behaviour, behaviour)], {}


def checkout_that_hangs(folder: Path) -> Path:
    """Sources whose build never ends."""
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "stand-in"\nversion = "0.0.1"\n'
        '[build-system]\nrequires = []\nbuild-backend = "hanging"\nbackend-path = ["."]\n'
    )
    (folder / "hanging.py").write_text("import time\ntime.sleep(600)\n")
    standin.git(folder, "init", "--quiet")
    return folder


@pytest.mark.parametrize(("station", "times"), [*((one, 1) for one in STATIONS), ("import", 3)])
def test_whatever_hangs_a_signal_ends_it(
    station: str, times: int, shared_clone: Clone, silent: str
) -> None:
    if station == "build" and shutil.which("cargo") is None:
        pytest.skip("nothing is built without a compiler")
    arguments, env = stuck_in(station, shared_clone, silent)
    results = shared_clone.root / f"results-{next(_number)}"
    process = shared_clone.start(*arguments, *QUICK, "--results", results, env=env)
    wait_for_a_program(process, STATIONS[station])
    _, stderr = told_to_end(process, signal.SIGTERM, times)
    assert process.returncode == 130, stderr
    assert shared_clone.left() == []
    assert_said_truly(stderr, results)


def wait_for_a_program(process: "subprocess.Popen[str]", argument: str) -> None:
    """Blocks until a comparison has started a program with such an argument."""
    end = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                if argument in child.cmdline():
                    return
        time.sleep(0.02)
    process.kill()
    pytest.fail(f"it never came to {argument}: {process.communicate()}")
