"""Each worker file of workers/ is run: it gets ready, waits, is poked, answers, and ends.

``TEST_EXAMPLES=1 ./test.sh tests/real/test_worker_examples.py`` runs all of them; else one of each
kind is: a package with a service, one that serves, a program, variants. So is the one of
workers/README.md. Those of which much is fetched (Kafka, Pathway, Spark) are run with it only.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Compare
from waitbench.commands.workers import FOLDER
from waitbench.engines.worker import file as worker_file

pytestmark = pytest.mark.integration
OF_EACH_KIND = ("rq", "gunicorn", "redis-server", "python-floor", "streamz")
PROGRAMS = {
    "redis-server": "redis-server",
    "java": "openjdk-17-jre-headless",
    "mvn": "maven",
}
"""What a worker or a service needs that pip does not install, and what Debian calls it."""


def missing(path: Path) -> str | None:
    """What the machine lacks for a worker file, and what would install it."""
    found = worker_file.read(path)
    needed = {word for service in found.services.values() for word in service.command}
    needed |= set(found.revisions)
    if any("broker.py" in word for word in needed):
        needed |= {"java", "mvn"}
    if found.package == "pyspark":
        needed.add("java")
    for program, package in PROGRAMS.items():
        if program in needed and shutil.which(program) is None:
            return f"needs {program}: apt-get install {package}"
    return None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.toml")), ids=lambda path: path.stem)
def test_an_example_gives_a_measurement(path: Path, run_compare: Compare, tmp_path: Path) -> None:
    if path.stem not in OF_EACH_KIND and "TEST_EXAMPLES" not in os.environ:
        pytest.skip("TEST_EXAMPLES=1 runs all examples")
    lack = missing(path)
    if lack is not None:
        pytest.skip(lack)
    worker = worker_file.read(path)
    results = tmp_path / "results"
    if worker.ends_by_itself:
        done = run_compare(
            *worker.revisions, "--worker", path, "--rounds", "1", "--no-plot", timeout=580
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return
    done = run_compare(
        path, "--rounds", "1", "--set", "window=1", "--results", results, command="workers",
        timeout=1180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = [f"{path.stem}-{one}" for one in worker.scenarios] or [path.stem]
    for name in names:
        found = json.loads((results / path.stem / f"{name}.json").read_text())["results"]
        assert len(found) == len(worker.revisions)
        for result in found:
            (run,) = result["measurements"]
            assert run["memory_proportional"]["value"] > 0
            assert run["item_latency_p50"]["value"] > 0
            assert run["time_cpu_steady"]["value"] >= 0


def test_the_worker_of_the_readme_is_whole(run_compare: Compare, tmp_path: Path) -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    for language, name in (("python", "jobs.py"), ("toml", "jobs.toml")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        (tmp_path / name).write_text(block)
    done = run_compare(
        "polls", "waits", "--worker", tmp_path / "jobs.toml", "--rounds", "1", "--set", "window=1",
        "--no-plot",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results" / "jobs.json").read_text())["results"]
    polls, waits = (one["measurements"][0] for one in results)
    assert polls["wakeups"]["value"] > waits["wakeups"]["value"]
    assert all(one["item_latency_p50"]["value"] > 0 for one in (polls, waits))
