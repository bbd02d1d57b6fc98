"""Comparisons that dask's own scheduler and workers carry, on loopback."""

import json
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.commands.processes import start
from tests.conftest import Compare
from tests.features.cluster.conftest import Cluster, started
from tests.waiting import until
from waitbench.features.cluster.on_dask import SHARDS
from waitbench.model.record import ScenarioResults
from waitbench.store import comparisons

pytestmark = pytest.mark.integration

QUIETLY = ("--no-plot",)
TWO = ("-s", "dynamic", "-s", "partitioned")
LARGE = "do kept = b'x' * (100 << 20)"
"""A stand-in that needs more memory, whose size varies so little that verdicts do not."""


def records_of(folder: Path) -> dict[str, ScenarioResults]:
    return {record.scenario: record for record in comparisons.read(folder).records}


def failures(folder: Path) -> set[tuple[str, str]]:
    """The scenario and the revision of each judgement that fails."""
    document = json.loads((folder / "verdict.json").read_text())
    return {(one["scenario"], one["revision"]) for one in document["judgements"] if one["fails"]}


def runs_of(record: ScenarioResults) -> list[tuple[str, int]]:
    """The revision and the round of each run."""
    return sorted((run.label, run.round) for run in record.measurements)


def shards_in(results: Path) -> list[Path]:
    return [path for path in (results / SHARDS).glob("*") if path.name.isdigit()]


@pytest.mark.smoke
def test_two_workers_find_what_one_machine_finds_and_never_run_at_once(
    run_compare: Compare, tmp_path: Path, cluster: Cluster
) -> None:
    plain = standin.revision(tmp_path / "plain", label="A")
    revisions = (plain, standin.revision(tmp_path / "large", LARGE, "C"))
    gate = ("--fail-on", "rss:100%,each", "--rounds", "16")
    asked = (*revisions, *QUIETLY, *gate, *TWO)
    on_two = run_compare(*asked, "--on", cluster.address, "--results", tmp_path / "two")
    assert on_two.returncode == 1, on_two.stdout + on_two.stderr
    on_one = run_compare(*asked, "--results", tmp_path / "one")
    assert on_one.returncode == 1
    records, expected = records_of(tmp_path / "two"), records_of(tmp_path / "one")
    assert failures(tmp_path / "two") == {(name, "C") for name in expected}
    # A shard does not know what has failed elsewhere, where little more is measured of that.
    assert failures(tmp_path / "one") <= failures(tmp_path / "two")
    for name, one in expected.items():
        assert {*runs_of(one)} <= {*runs_of(records[name])}
    documents = [
        json.loads((tmp_path / name / "comparison.json").read_text()) for name in ("two", "one")
    ]
    for one in documents:
        del one["started_at"], one["argv"]
    assert documents[0] == documents[1]
    spans = sorted(
        (begun, begun + timedelta(seconds=run.metrics["time_wall_clock"]))
        for record in records.values()
        for run in record.measurements
        for begun in [datetime.fromisoformat(run.started_at)]
    )
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(spans))
    assert not (tmp_path / "two" / SHARDS).exists()


def test_a_shard_whose_worker_is_killed_is_measured_again_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    with started(tmp_path / "cluster", "x", "y") as cluster:
        comparing = start(
            f"A={wheel}", f"B={wheel}", *QUIETLY, *TWO, "--rounds", "3",
            "--on", cluster.address, "--results", results,
        )  # fmt: skip
        busy = cluster.busy()
        (shard,) = cluster.shards(busy)
        until(lambda: any(one.stat().st_size for one in runs_in(shard)))
        cluster.processes[busy].kill()
        killed = datetime.now().astimezone()
        out, err = comparing.communicate(timeout=120)
        assert comparing.returncode == 0, out + err
        records = records_of(results)
        for record in records.values():
            assert runs_of(record) == [(label, number) for label in "AB" for number in (1, 2, 3)]
            starts = [datetime.fromisoformat(run.started_at) for run in record.measurements]
            assert min(starts) > killed, "no round is of two attempts"
        assert set(records) == {"dynamic", "partitioned"}
        assert not shard.is_running()


def runs_in(shard: psutil.Process) -> Iterator[Path]:
    """The file of the runs that a shard has made."""
    return Path(shard.cwd()).glob("results/runs.jsonl")


def test_resuming_keeps_the_shards_that_are_finished(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    asked = (f"A={wheel}", f"B={wheel}", *QUIETLY, *TWO, "--rounds", "2", "--results", results)
    with started(tmp_path / "cluster", "x") as cluster:
        comparing = start(*asked, "--on", cluster.address)
        until(lambda: shards_in(results))
        until(lambda: cluster.shards("x"))
        comparing.kill()
        comparing.communicate(timeout=20)
        until(lambda: not cluster.shards("x"))
        (done,) = shards_in(results)
        (kept,) = (path for path in done.glob("*.json") if path.stem != "comparison")
        content = kept.read_bytes()
        other = run_compare(*asked, "--set", "partitions=2", "--resume", "--on", cluster.address)
        assert (other.returncode, "another command" in other.stderr) == (2, True), other.stderr
        resumed = run_compare(*asked, "--resume", "--on", cluster.address)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert {name: len(one.measurements) for name, one in records_of(results).items()} == {
        "dynamic": 4, "partitioned": 4
    }  # fmt: skip
    measurements = json.loads(content)["results"]
    assert json.loads((results / kept.name).read_text())["results"] == measurements


def test_while_a_shard_is_measured_its_worker_sleeps(tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 4")
    with started(tmp_path / "cluster", "x") as cluster:
        comparing = start(
            wheel, *QUIETLY, "-s", "dynamic", "--rounds", "1",
            "--on", cluster.address, "--results", tmp_path / "results",
        )  # fmt: skip
        cluster.busy()
        (shard,) = cluster.shards("x")
        until(lambda: is_running("hyperfine", shard), each_s=0.05)
        worker = psutil.Process(cluster.processes["x"].pid)
        before = switches(worker)
        with pytest.raises(psutil.TimeoutExpired):
            worker.wait(2)
        assert switches(worker) - before < 40, "dask's timers would switch 200 times a second"
        comparing.send_signal(signal.SIGINT)
        comparing.communicate(timeout=20)
        until(lambda: not cluster.shards("x"))


def is_running(name: str, parent: psutil.Process) -> bool:
    for child in parent.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended
            if child.name() == name:
                return True
    return False


def switches(process: psutil.Process) -> int:
    """How often the threads of a process began to wait."""
    found = 0
    for status in Path(f"/proc/{process.pid}/task").glob("*/status"):
        (line,) = (one for one in status.read_text().splitlines() if one.startswith("voluntary"))
        found += int(line.split()[1])
    return found


def test_a_worker_file_goes_with_what_it_names_and_no_program_does(
    run_compare: Compare, tmp_path: Path, cluster: Cluster
) -> None:
    wheel, path = standin.write_wheel(tmp_path), tmp_path / "mine.toml"
    (tmp_path / "idle.py").write_text("import time\nprint('up')\ntime.sleep(99)\n")
    path.write_text(
        "package = 'stand-in'\nmodule = 'standin'\nfiles = ['idle.py']\nwindow = 1\n"
        "command = '{python} {here}/idle.py'\nready = { log = 'up' }\n"
    )
    asked = ("--worker", path, *QUIETLY, "--rounds", "1", "--on", cluster.address)
    done = run_compare(f"A={wheel}", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [runs_of(one) for one in records_of(tmp_path / "results").values()] == [[("A", 1)]]
    kept = json.loads((tmp_path / "results" / "comparison.json").read_text())["settings"]
    assert list(kept["worker"]) == ["mine.toml", "idle.py"]
    path.write_text("command = '{revision} 99'\n")
    refused = run_compare("sleep", *asked, "--results", tmp_path / "no")
    assert (refused.returncode, "only this machine has" in refused.stderr) == (2, True), refused
    assert not (tmp_path / "no").exists()
