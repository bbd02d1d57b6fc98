"""Comparisons that are killed, or told to end, at any moment.

Moments are random, and FAULT_TRIALS says how many: a hundred take half an hour.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, cycle, islice, product
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.bisect_repository import PYPROJECT
from tests.faults.clones import QUICK, Clone, rounds_in
from tests.waiting import until

pytestmark = pytest.mark.integration

TRIALS = int(os.environ.get("FAULT_TRIALS", "3"))
ASKED = cycle(product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), (1, 3)))
BLOWS = [*[(signal.SIGKILL, 1)] * TRIALS, *islice(ASKED, TRIALS)]
"""Signals, and how often each is sent."""

STAYS = """do
import re
harness = re.search(r"/runs/(\\d+)-", os.environ["BENCH_PROBE_DIR"])[1]
time.sleep(0.3)
while not os.path.exists("/proc/" + harness):
    time.sleep(0.1)"""
"""A run that would never end, if it were left behind."""
_number = count()


class Comparison:
    """A comparison of two rounds of a revision that nothing is set up for yet."""

    def __init__(self, clone: Clone) -> None:
        number = next(_number)
        self.results = clone.root / f"results-{number}"
        wheel = clone.wheel(f"{number}", f"{STAYS}  # {number}")
        options = ("--rounds", "2", "--results", self.results)
        self.arguments = (f"A={wheel}", f"B={wheel}", *QUICK, *options)
        self.process = clone.start(*self.arguments)
        until(lambda: handles_signals(self.process.pid), each_s=0.005)


def handles_signals(pid: int) -> bool:
    """Before a process does, the system ends it, and all is said."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    is_handled = caught >> (signal.SIGHUP - 1) & 1
    return bool(is_handled) and "runner" in " ".join(psutil.Process(pid).cmdline())


@pytest.fixture(scope="module")
def length_s(shared_clone: Clone) -> Iterator[float]:
    """How long such a comparison takes that nothing happens to."""
    one = Comparison(shared_clone)
    begun = time.monotonic()
    said = one.process.communicate(timeout=120)
    assert one.process.returncode == 0, said
    yield time.monotonic() - begun
    shutil.rmtree(shared_clone.cache / "environments", ignore_errors=True)


@pytest.mark.parametrize(
    ("part", "number", "times"), [(n % TRIALS, *blow) for n, blow in enumerate(BLOWS)]
)
def test_what_was_measured_survives_a_kill_or_a_signal_at_any_moment_and_nothing_else_does(
    part: int, number: signal.Signals, times: int, length_s: float, shared_clone: Clone
) -> None:
    """At a random moment of one of TRIALS equal parts."""
    moment_s = (part + random.random()) / TRIALS * length_s
    while True:
        one = Comparison(shared_clone)
        with suppress(subprocess.TimeoutExpired):
            one.process.wait(moment_s)
        _, said = told_to_end(one.process, number, times)
        if one.process.returncode != 0:
            break
        # It was over before: this one was faster than the first.
        moment_s *= 0.9
    assert shared_clone.left() == []
    if number != signal.SIGKILL:
        assert one.process.returncode == 130, said
        assert_said_truly(said, one.results)
    kept = rounds_in(one.results)
    done = shared_clone.run(*one.arguments, "--no-plot", "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert rounds_in(one.results) == {"A": [1, 2], "B": [1, 2]}, kept
    assert shared_clone.halves() == []


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
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "backend.py").write_text("import time\ntime.sleep(600)\n")
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
    until(lambda: has_started(process, STATIONS[station]), each_s=0.02)
    _, stderr = told_to_end(process, signal.SIGTERM, times)
    assert process.returncode == 130, stderr
    assert shared_clone.left() == []
    assert_said_truly(stderr, results)


def has_started(process: "subprocess.Popen[str]", argument: str) -> bool:
    """Whether a comparison has started a program with such an argument."""
    assert process.poll() is None, process.communicate()
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.Error):
            if argument in child.cmdline():
                return True
    return False
