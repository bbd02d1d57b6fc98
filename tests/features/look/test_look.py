"""A look at a running worker, as a user takes one."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Compare
from tests.running import line_of, python
from waitbench.engines.worker import file

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
    with python(SLEEPS) as process:
        line_of(process)
        yield process.pid


@pytest.mark.smoke
def test_a_look_shows_a_process_and_its_busiest_threads_and_a_worker_file_to_begin_with(
    run_compare: Compare, worker: int, tmp_path: Path
) -> None:
    done = run_compare(str(worker), "--for", "0.5", command="look")
    assert done.returncode == 0, done.stderr
    title, headings, whole, process, *threads = done.stdout.splitlines()
    assert title.startswith("what it costs now · 1 process · 0.5")
    assert headings.split() == ["who", "%", "core", "wakes/s", "calls/s", "memory"]
    assert whole.startswith("in all ")
    assert process.startswith(f"{worker} ")
    assert threads[3].startswith("  4 other threads ")
    os.kill(worker, 0)
    said = done.stdout[done.stdout.index("# A worker file") :]
    path = tmp_path / "mine.toml"
    path.write_text(said)
    assert file.read(path).command == ("{revision}", "-c", SLEEPS)
    assert f"a={sys.executable} b=" in said


def test_json_has_all_threads(run_compare: Compare, worker: int) -> None:
    done = run_compare(str(worker), "--for", "0.5", "--json", command="look")
    found = json.loads(done.stdout)
    assert found["seconds"] >= 0.5
    (process,) = found["parts"]
    assert process["id"] == worker
    assert len(process["parts"]) == 7
    assert process["wakeups_per_s"] == found["wakeups_per_s"] > 0
