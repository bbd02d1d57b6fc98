"""Real bytewax, real hyperfine, real compilers."""

import csv
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Compare
from waitbench.environments import virtualenvs as environments
from waitbench.environments.index import Index
from waitbench.environments.origins import OriginChoice, choose
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import resolve
from waitbench.environments.virtualenvs import Environment
from waitbench.execution.hyperfine import locate
from waitbench.model.errors import HarnessError
from waitbench.system.places import ROOT, Cache

pytestmark = pytest.mark.integration


def make(texts: list[str], repository: Repository, cache: Cache) -> dict[str, Environment | HarnessError]:
    recipes = choose(resolve(texts, repository), OriginChoice.AUTO, None, repository, Index(cache))
    return environments.make_all(recipes, repository, cache, lambda _label, _what: None)


def binary(environment: Environment | HarnessError) -> bytes:
    assert isinstance(environment, Environment), environment
    return (environment.folder / "bin" / "bytewax").read_bytes()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")
def test_two_commits_never_share_a_binary_though_their_files_are_equally_old(repository: Repository) -> None:
    # One cache, so one cargo target folder: cargo alone would take the second build for done (see builds.py).
    commits = make(["one=v0.0.1", "two=main"], repository, repository.cache)
    one, two = binary(commits["one"]), binary(commits["two"])
    assert b"one" in subprocess.run([commits["one"].folder / "bin" / "bytewax"], capture_output=True, check=True).stdout  # type: ignore[union-attr]
    assert one != two
    again = make(["again=v0.0.1"], repository, repository.cache)
    assert again["again"] == commits["one"], "reused when complete"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")
def test_an_interrupted_environment_is_rebuilt(repository: Repository) -> None:
    first = make(["main"], repository, repository.cache)["main"]
    assert isinstance(first, Environment)
    (first.folder / "environment.json").unlink()
    shutil.rmtree(first.folder / "lib")
    second = make(["main"], repository, repository.cache)["main"]
    assert isinstance(second, Environment)
    assert second.facts.package_sha256 == first.facts.package_sha256


@pytest.mark.skipif(shutil.which("cargo") is None, reason="source builds need cargo")
def test_a_build_that_fails_shows_its_log_and_the_other_revision_is_built(repository: Repository, tmp_path: Path) -> None:
    standin.write_repository(tmp_path / "broken")
    (tmp_path / "broken" / "src" / "main.rs").write_text("fn main() { this is no Rust }")
    made = make(["main", str(tmp_path / "broken")], repository, repository.cache)
    assert isinstance(made["main"], Environment)
    assert isinstance(made["broken"], HarnessError)
    assert "error" in str(made["broken"])
    assert str(repository.cache.root / "logs") in str(made["broken"])


def test_hyperfine_is_found_or_set_up_and_new_enough() -> None:
    assert locate(Cache(), lambda _what: None).version >= "1.13"


RELEASES = ["v0.16.0", "v0.16.1", "v0.17.2", "v0.18.2", "v0.19.1", "v0.21.1"]


def test_the_workloads_run_on_every_generation_of_the_api(run_compare: Compare, tmp_path: Path) -> None:
    quick = ["--set", "interval=0.01", "--set", "heaviness=100", "--rounds", "1", "--no-plot"]
    done = run_compare(*RELEASES, *quick, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    files = list((tmp_path / "results").glob("*.json"))
    assert len(files) == 8
    for path in files:
        data = json.loads(path.read_text())
        assert [result["command"] for result in data["results"]] == RELEASES, path.name


def test_the_fix_of_the_spinning_workers_shows_in_every_topology(run_compare: Compare, tmp_path: Path) -> None:
    for topology in (["--topology", "single"], ["--topology", "launcher", "--processes", "2"]):
        results = tmp_path / topology[1]
        done = run_compare(
            "v0.16.0", "v0.16.1", "--scenario", "partitioned-long-input", "--set", "items_per_partition=8", "--rounds", "1",
            "--no-plot", *topology, "--results", results,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        data = json.loads((results / "partitioned-long-input.json").read_text())
        before, after = (result["summary"] for result in data["results"])
        # No assertion on a time: the count of polls is what the fix changed, and no machine's noise changes it tenfold.
        assert before["polls"]["mean"] > 10 * after["polls"]["mean"]


def test_a_fresh_clone_runs_from_any_folder(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    (clone / ".bench").mkdir()
    # The virtualenv of this very test: making one takes a minute, and setup.sh is tested by every run of test.sh.
    (clone / ".bench" / "venv").symlink_to(Path(sys.executable).parent.parent)
    done = subprocess.run([clone / "plot.sh"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "overview.png" in done.stdout


OWN_DATAFLOW = """
import bytewax.operators as op
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource

def get_flow(n):
    flow = Dataflow("own")
    op.output("out", op.map("text", op.input("in", flow, TestingSource(range(n))), str), StdOutSink())
    return flow

nothing = 1
raises = lambda: None
if __name__ != "__main__" and "raise" in __file__:
    raise ValueError("on purpose")
"""


def test_an_own_dataflow_is_measured_unchanged_or_said_why_not(run_compare: Compare, tmp_path: Path) -> None:
    own, raising = tmp_path / "own.py", tmp_path / "raise_on_import.py"
    for path in (own, raising):
        path.write_text(OWN_DATAFLOW)
    done = run_compare("v0.21.1", "--dataflow", f"{own}:get_flow(5)", "--rounds", "1", "--no-plot")
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "results" / "own.json").read_text())
    assert data["results"][0]["summary"]["time_cpu"]["mean"] > 0
    for text, says in {
        f"{own}:nothing": "valid Bytewax dataflow",
        f"{raising}:get_flow(5)": "ValueError: on purpose",
    }.items():
        done = run_compare("v0.21.1", "--dataflow", text, "--rounds", "1", "--no-plot")
        assert done.returncode == 3
        assert says in done.stdout, done.stdout


def test_scheduled_idle_and_burst_work_and_what_a_revision_cannot_do_is_no_error(
    run_compare: Compare, tmp_path: Path
) -> None:
    quick = ["--set", "interval=0.05", "--set", "idle=0.5", "--rounds", "1", "--no-plot"]
    kinds = ["--scenario", "*-scheduled", "--scenario", "*-idle", "--scenario", "*-burst"]
    done = run_compare("v0.16.2", "v0.17.2", "v0.18.2", "v0.21.1", *quick, *kinds, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "v0.16.2: not supported" in done.stdout
    for family in ("partitioned", "dynamic"):
        scheduled = json.loads((tmp_path / "results" / f"{family}-scheduled.json").read_text())
        assert [result["command"] for result in scheduled["results"]] == ["v0.17.2", "v0.18.2", "v0.21.1"]
        plain = json.loads((tmp_path / "results" / f"{family}-idle.json").read_text())
        # Asked only when there is something: a few polls an item, not one a millisecond.
        assert all(result["summary"]["polls_per_item"]["mean"] < 10 for result in scheduled["results"])
        assert all(result["summary"]["items_out"]["mean"] == 0 for result in plain["results"])


def test_sixteen_processes_work_and_two_comparisons_do_not_fight_over_ports(run_compare: Compare, tmp_path: Path) -> None:
    options = ["--processes", "16", "--scenario", "dynamic-long-input", "--rounds", "1", "--no-plot"]
    options += ["--set", "interval=0.05", "--set", "items_per_worker=5"]
    with ThreadPoolExecutor() as pool:
        both = [
            pool.submit(run_compare, "v0.16.1", "v0.21.1", *options, "--results", tmp_path / name)
            for name in ("one", "two")
        ]
        for done in both:
            assert done.result().returncode == 0, done.result().stdout + done.result().stderr


def test_a_timeline_and_the_launchers_cost_are_extra_runs(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare(
        "v0.16.1", "--scenario", "partitioned-idle", "--set", "idle=1", "--rounds", "1", "--processes", "2", "--timeline",
        "--launcher-cost",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "own launcher would have added" in done.stdout
    assert (tmp_path / "results" / "partitioned-idle-timeline.png").stat().st_size > 1000
    with (tmp_path / "results" / "partitioned-idle-timeline.csv").open() as file:
        times = sorted({float(row["time_s"]) for row in csv.DictReader(file)})
    assert len(times) >= 10 * (times[-1] - times[0]), "ten samples a second at least"


@pytest.mark.parametrize("topology", [["single"], ["cluster", "--processes", "2"], ["launcher", "--processes", "2"]])
def test_the_check_finds_the_fix_reversed_and_passes_the_fix(
    topology: list[str], run_compare: Compare, tmp_path: Path
) -> None:
    options = ["--topology", *topology, "-s", "partitioned-long-input", "--fail-on", "system:10%", "--fail-on", "cpu:10%"]
    undone = run_compare("v0.16.1", "v0.16.0", *options, "--no-plot", "--junit", tmp_path / "junit.xml")
    assert undone.returncode == 1, undone.stdout + undone.stderr
    assert "FAIL" in undone.stdout
    assert "<failure" in (tmp_path / "junit.xml").read_text()
    verdict = json.loads((tmp_path / "results" / "verdict.json").read_text())
    assert max(judgement["rounds"] for judgement in verdict["judgements"]) < 30
    done = run_compare("v0.16.0", "v0.16.1", *options, "--no-plot")
    assert (done.returncode, "faster" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_worker_that_asks_a_model_runs_on_every_generation_of_the_api(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare(
        "v0.16.1", "v0.18.2", "v0.21.1", "-s", "scoring*", "--rounds", "1", "--set", "calls_per_worker=20",
        "--set", "timeout_ms=50", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for transport in ("inprocess", "blocking", "nonblocking-spin", "nonblocking-park"):
        data = json.loads((tmp_path / "results" / f"scoring-{transport}.json").read_text())
        for result in data["results"]:
            assert result["summary"]["lines_per_call"]["min"] > 0
            # The model of a worker is a process of its own, and its CPU is not the worker's.
            helpers = result["summary"]["time_cpu_helpers"]["min"]
            assert helpers == 0 if transport == "inprocess" else helpers > 0
            assert all(run["marks"] == [] or "unbalanced" not in run["marks"] for run in result["measurements"])
        assert len((tmp_path / "results" / f"scoring-{transport}.samples.csv").read_text().splitlines()) == 1 + 3 * 20
    assert (tmp_path / "results" / "scoring.png").exists()
    assert "time taken by a call" in done.stdout
    markdown = tmp_path / "tables.md"
    done = run_compare(tmp_path / "results", "--markdown", markdown, command="report")
    assert done.returncode == 0, done.stderr
    assert "| nonblocking-park |" in markdown.read_text().replace("\n", " |")


def test_a_worker_that_waits_for_a_service_runs_on_every_generation_of_the_api(
    run_compare: Compare, tmp_path: Path
) -> None:
    done = run_compare(
        "v0.16.1", "v0.18.2", "v0.21.1", "-s", "embedding-direct", "-s", "embedding-proxy-adaptive", "--rounds", "1", "--set",
        "items_per_worker=30", "--no-plot", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for mode in ("direct", "proxy-adaptive"):
        data = json.loads((tmp_path / "results" / f"embedding-{mode}.json").read_text())
        for result in data["results"]:
            # Services are not the worker's: their CPU is told apart, and is in no total of hyperfine's.
            assert ("service_cpu_proxy" in result["summary"]) == (mode != "direct")
            assert "service_cpu_embedder" in result["summary"]
            if mode != "direct":
                assert result["summary"]["upstream_calls"]["mean"] >= 30
    assert "one request at a time" in done.stdout


@pytest.mark.parametrize("device", ["noop", "passthrough", "file"])
def test_a_worker_that_waits_for_its_output_runs_on_every_generation_of_the_api(
    run_compare: Compare, tmp_path: Path, device: str
) -> None:
    done = run_compare(
        "v0.16.1", "v0.18.2", "v0.21.1", "-s", "paged-output-*-noop", "--rounds", "1", "--set", "items_per_worker=2000",
        "--set", f"device={device}", "--no-plot", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for output in ("regular", "paged"):
        data = json.loads((tmp_path / "results" / f"paged-output-{output}-noop.json").read_text())
        for result in data["results"]:
            assert result["summary"]["messages_sent"]["mean"] == 2000
            assert result["summary"]["messages_dropped"]["mean"] == 0
            assert all("unbalanced" not in run["marks"] for run in result["measurements"])


def test_the_published_tables_of_paged_output_are_made(run_compare: Compare, tmp_path: Path) -> None:
    folder = tmp_path / "paged"
    done = run_compare("--repetitions", "1", "--largest", "10000", "--results", folder, command="paged-output", timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "paging.json").read_text())["rows"]
    assert [(row["row"]["device"], row["dropped"]) for row in rows] == [("noop", 0), ("passthrough", 0)]
    for row in rows:
        assert row["bytes_held_peak"] <= 40_000 * 25 + 4096
    assert (folder / "paged-output.png").exists()
    again = run_compare(folder, command="report")
    assert "speed-up" in again.stdout
    for bad in (["--repetitions", "0"], ["--largest", "5"]):
        assert run_compare(*bad, command="paged-output").returncode == 2


def test_a_load_is_put_on_the_services_and_kept(run_compare: Compare, tmp_path: Path) -> None:
    folder = tmp_path / "load"
    quick = ["--mode", "direct", "--mode", "proxy-adaptive", "--duration", "1", "--connections", "20"]
    done = run_compare(*quick, "--results", folder, command="load", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    modes = json.loads((folder / "load.json").read_text())["modes"]
    assert [mode["success_rate"] for mode in modes.values()] == [1.0, 1.0]
    assert all(mode["checked"] > 0 and mode["wrong"] == 0 for mode in modes.values())
    assert "requests per second" in run_compare(folder, command="report").stdout
    for bad in (
        ["--mode", "x"],
        ["--duration", "0"],
        ["--connections", "-1"],
        ["--call-cost", "-1"],
        ["--url", "nonsense"],
    ):
        assert run_compare(*bad, command="load").returncode == 2, bad
