"""Comparisons that are told to end while what they have started never does."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.bisect_repository import PYPROJECT
from tests.faults.clones import QUICK, Clone
from tests.running import command_line
from tests.waiting import until

pytestmark = pytest.mark.integration


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


@pytest.mark.parametrize(
    ("station", "signals"),
    [
        *((station, [signal.SIGTERM]) for station in STATIONS),
        ("import", [signal.SIGTERM] * 3),
        ("build", [signal.SIGKILL]),
        ("run", [signal.SIGKILL]),
    ],
)
def test_whatever_hangs_a_signal_ends_it(
    station: str, signals: list[signal.Signals], shared_clone: Clone, silent: str, tmp_path: Path
) -> None:
    if station == "build" and shutil.which("cargo") is None:
        pytest.skip("nothing is built without a compiler")
    arguments, env = stuck_in(station, shared_clone, silent)
    process = shared_clone.start(*arguments, *QUICK, "--results", tmp_path / "results", env=env)
    until(lambda: has_started(process, STATIONS[station]), each_s=0.02)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.02)
    _, stderr = process.communicate(timeout=60)
    assert shared_clone.left() == []
    is_killed = signal.SIGKILL in signals
    assert process.returncode == (-signal.SIGKILL if is_killed else 130), stderr
    assert ("interrupted" in stderr, "Traceback" in stderr) == (not is_killed, False), stderr


def has_started(process: "subprocess.Popen[str]", argument: str) -> bool:
    """Whether a comparison has started a program with such an argument."""
    assert process.poll() is None, process.communicate()
    children = psutil.Process(process.pid).children(recursive=True)
    return any(argument in command_line(child) for child in children)
