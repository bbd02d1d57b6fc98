"""A look at a running worker, as a user takes one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import Compare

pytestmark = pytest.mark.integration
SLEEPS = """
import threading, time
def tick():
    while True: time.sleep(0.01)
for _ in range(6): threading.Thread(target=tick).start()
print("ready", flush=True)
"""


@pytest.fixture
def worker() -> Iterator[int]:
    """A program with seven threads that runs already."""
    process = subprocess.Popen([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.communicate()


@pytest.mark.smoke
def test_a_look_shows_a_process_and_its_busiest_threads(run_compare: Compare, worker: int) -> None:
    done = run_compare(str(worker), "--for", "0.5", command="look")
    assert done.returncode == 0, done.stderr
    title, headings, whole, process, *threads = done.stdout.splitlines()
    assert title.startswith("what it costs now · 1 process · 0.5")
    assert headings.split() == ["who", "%", "core", "wakes/s", "calls/s", "memory"]
    assert whole.startswith("in all ")
    assert process.startswith(f"{worker} ")
    assert threads[3].startswith("  4 other threads ")
    os.kill(worker, 0)


def test_json_has_all_threads(run_compare: Compare, worker: int) -> None:
    done = run_compare(str(worker), "--for", "0.5", "--json", command="look")
    found = json.loads(done.stdout)
    assert found["seconds"] >= 0.5
    (process,) = found["parts"]
    assert process["id"] == worker
    assert len(process["parts"]) == 7
    assert process["wakeups_per_s"] == found["wakeups_per_s"] > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["999999999"], "There is no process 999999999"),
        (["."], "'.' is neither a PID nor"),
        (["1", "--for", "0"], "--for 0: must be above 0"),
    ],
)
def test_what_cannot_be_looked_at_is_a_sentence(
    run_compare: Compare, given: list[str], said: str
) -> None:
    done = run_compare(*given, command="look")
    assert done.returncode == 2
    assert said in done.stderr
