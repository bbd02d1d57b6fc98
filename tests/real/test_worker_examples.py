"""Each worker file of workers/ is run: it gets ready, waits, is poked, answers, and ends.

Studies, which end by themselves, are run with few and small calls.

``TEST_EXAMPLES=1 ./test.sh tests/real/test_worker_examples.py`` runs all of them; else one of each
kind is: a package with a service, one that serves, a program, variants, a build. So is the one of
workers/README.md. Those of which much is fetched (Kafka, Pathway, Spark) are run with it only.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Compare
from waitbench.engines.worker import file as worker_file
from waitbench.model.conditions import Success
from waitbench.system.paths import ROOT, WORKERS

pytestmark = pytest.mark.integration
FILES = sorted(WORKERS.glob("*/*.toml"))
OF_EACH_KIND = ("rq", "gunicorn", "redis-server", "python-floor", "streamz", "bullmq")
PROGRAMS = {
    "redis-server": "redis-server",
    "pg_isready": "postgresql",
    "java": "openjdk-17-jre-headless",
    "mvn": "maven",
    "npm": "npm",
    "go": "golang-go",
    "cargo": "cargo",
    "curl": "curl",
}
"""What a worker or a service needs that pip does not install, and what Debian calls it."""


STUDIES = {
    "scoring/predict.toml": ("calls=20", "timeout_ms=50"),
    "paged-output/bench.toml": ("messages=500",),
    "embedding/load.toml": ("seconds=1", "connections=16"),
}
"""Settings that make each of them last for a few seconds."""


def missing(path: Path) -> str | None:
    """What the machine lacks for a worker file, and what would install it."""
    found = worker_file.read(path)
    services = found.services.values()
    checks = [it.ready.value for it in services if isinstance(it.ready, Success)]
    needed = {word for words in (*(it.command for it in services), *checks) for word in words}
    needed |= set(found.revisions) | {*found.command}
    if found.build is not None:
        needed |= {word for text in found.build.command for word in text.split()}
        needed |= {*found.poke.command} if found.poke else set()
    if any("broker.py" in word for word in needed):
        needed |= {"java", "mvn"}
    if found.package == "pyspark":
        needed.add("java")
    for program, package in PROGRAMS.items():
        if program in needed and shutil.which(program) is None:
            return f"needs {program}: apt-get install {package}"
    return None


WAITING = [path for path in FILES if not worker_file.read(path).ends_by_itself]


@pytest.mark.parametrize("path", WAITING, ids=lambda path: path.stem)
def test_an_example_gives_a_measurement(path: Path, run_compare: Compare, tmp_path: Path) -> None:
    if path.stem not in OF_EACH_KIND and "TEST_EXAMPLES" not in os.environ:
        pytest.skip("TEST_EXAMPLES=1 runs all examples")
    lack = missing(path)
    if lack is not None:
        pytest.skip(lack)
    worker = worker_file.read(path)
    done = run_compare(
        *worker.revisions, "--worker", path, *(("-s", worker.name) if worker.phases else ()),
        "--rounds", "1", "--set", "window=1", "--no-plot", timeout=1180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = [f"{path.stem}-{one}" for one in worker.scenarios] or [path.stem]
    for name in names:
        found = json.loads((tmp_path / "results" / f"{name}.json").read_text())["results"]
        assert len(found) == len(worker.revisions)
        for result in found:
            (run,) = result["measurements"]
            assert run["memory_proportional"]["value"] > 0
            assert run["item_latency_p50"]["value"] > 0
            assert run["time_cpu_idle"]["value"] >= 0


@pytest.mark.parametrize("name", STUDIES)
def test_each_variant_of_a_study_gives_every_metric(
    name: str, run_compare: Compare, tmp_path: Path
) -> None:
    worker = worker_file.read(WORKERS / name)
    settings = [word for setting in STUDIES[name] for word in ("--set", setting)]
    done = run_compare(
        *worker.variants, "--worker", WORKERS / name, "--rounds", "1", "--no-plot", *settings,
        timeout=580,
    )  # fmt: skip
    if "could not be installed" in done.stdout + done.stderr:
        pytest.skip(f"a package of {name} cannot be installed here")
    assert done.returncode == 0, done.stdout + done.stderr
    for scenario in worker.scenarios or {worker.name: {}}:
        called = f"{worker.name}-{scenario}" if worker.scenarios else scenario
        results = json.loads((tmp_path / "results" / f"{called}.json").read_text())["results"]
        assert [result["command"] for result in results] == list(worker.variants)
        for result in results:
            (run,) = result["measurements"]
            for metric, how in worker.metrics.items():
                key = f"own_{metric}".replace("-", "_")
                for shown in how.show or ("",):
                    assert run[f"{key}_{shown}" if shown else key]["value"] >= 0


def test_the_worker_file_of_the_how_to_is_measured_in_each_of_its_phases(
    run_compare: Compare, tmp_path: Path
) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server: apt-get install redis-server")
    text = (ROOT / "docs" / "workers.md").read_text("utf-8")
    first, *more = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    parts = [block for block in more if not re.search("^package = ", block, re.M)]
    (tmp_path / "rq.toml").write_text(first + "".join(parts))
    done = run_compare(
        "2.2.0", "--worker", tmp_path / "rq.toml", "--rounds", "1", "--set", "window=1",
        "--no-plot", "-s", "redis-gone", "-s", "redis-back",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # The runs of each phase go through all before it.
    for name in ("rq-redis-gone", "rq-redis-back"):
        (result,) = json.loads((tmp_path / "results" / f"{name}.json").read_text())["results"]
        (run,) = result["measurements"]
        assert ("item_latency_p50" in run) == (name != "rq-redis-gone")


def test_the_worker_of_the_readme_is_whole(run_compare: Compare, tmp_path: Path) -> None:
    text = (WORKERS / "README.md").read_text("utf-8")
    for language, name in (("python", "jobs.py"), ("toml", "jobs.toml")):
        block = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[0]
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
