"""One comparison on several workers: real schedulers, workers and units, on loopback."""

import json
import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.cluster.conftest import Shared
from tests.clusters import cluster, processes_of
from tests.commands.processes import start, wait_for_runs
from tests.conftest import Compare
from waitbench.model.record import Record
from waitbench.store import comparisons

pytestmark = pytest.mark.integration

QUIETLY = ("--no-plot", "--no-instruments")
THREE = ("dynamic", "partitioned", "partitioned-heavy-map")
LARGE = "do kept = b'x' * (100 << 20)"
"""A stand-in that needs more memory, whose size varies so little that verdicts do not."""


def records_of(folder: Path) -> dict[str, Record]:
    return {record.scenario: record for record in comparisons.read(folder).records}


def spans(record: Record) -> list[tuple[datetime, datetime]]:
    """When each run began, and when it had ended at the earliest."""
    found = []
    for run in record.measurements:
        begun = datetime.fromisoformat(run.started_at)
        found.append((begun, begun + timedelta(seconds=run.metrics["time_wall_clock"])))
    return found


def failures(folder: Path) -> set[tuple[str, str]]:
    """The scenario and the revision of each judgement that fails."""
    document = json.loads((folder / "verdict.json").read_text())
    return {(one["scenario"], one["revision"]) for one in document["judgements"] if one["fails"]}


def wait_for(is_so: Callable[[], bool]) -> None:
    """Blocks until something is so; fails after two minutes."""
    end = time.monotonic() + 120
    while not is_so():
        if time.monotonic() > end:
            pytest.fail("not so after two minutes")
        time.sleep(0.05)


def wait_until_empty(*caches: Path) -> None:
    """Blocks until workers have neither processes nor folders of units or runs."""
    places = [cache / name for cache in caches for name in ("units", "runs")]
    wait_for(lambda: not any(map(processes_of, places)))
    wait_for(lambda: not any(map(entries, places)))


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def finished_units(results: Path) -> list[str]:
    """The scenarios whose units are finished, while others are not."""
    return [path.name for path in (results / ".units").glob("[!.]*")]


def test_two_workers_find_what_one_machine_finds_and_never_run_at_once(
    run_compare: Compare, tmp_path: Path, shared: Shared
) -> None:
    plain = standin.revision(tmp_path / "plain")
    revisions = (f"A={plain}", f"B={plain}", standin.revision(tmp_path / "large", LARGE, "C"))
    gate = ("--fail-on", "rss:100%", "--max-rounds", "6", "--quiet")
    asked = (*revisions, *QUIETLY, *gate, *(word for name in THREE for word in ("-s", name)))
    on_two = run_compare(*asked, "--on", shared.address, "--results", tmp_path / "two")
    assert on_two.returncode == 1, on_two.stdout + on_two.stderr
    on_one = run_compare(*asked, "--results", tmp_path / "one")
    assert on_one.returncode == 1
    found = failures(tmp_path / "two")
    assert found == failures(tmp_path / "one") == {(name, "C") for name in THREE}
    records = records_of(tmp_path / "two")
    assert set(records) == set(THREE)
    assert all(
        {run.round for run in one.measurements} == {1, 2, 3, 4, 5, 6} for one in records.values()
    )
    runs = sorted(span for record in records.values() for span in spans(record))
    assert len(runs) == len(THREE) * 3 * 6
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(runs))


def test_a_unit_whose_worker_is_killed_is_made_anew_elsewhere(tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    with cluster(tmp_path, "xy") as (address, processes):
        comparing = start(
            f"A={wheel}", f"B={wheel}", *QUIETLY, "--scenario", "dynamic", "--rounds", "4",
            "--on", address, "--results", results,
        )  # fmt: skip
        wait_for_runs(results, "dynamic", 3)
        kept = comparisons.resume(results).records[0].measurements
        units = {name: processes_of(tmp_path / name / "units") for name in "xy"}
        (busy,) = (name for name, found in units.items() if found)
        processes[busy].kill()
        out, err = comparing.communicate(timeout=60)
        assert comparing.returncode == 0, out + err
        assert f"begun anew elsewhere: {busy}" in out
        (record,) = records_of(results).values()
        starts = [run.started_at for run in record.measurements]
        assert len(starts) == 8
        assert min(starts) > max(run.started_at for run in kept), "no round is of two attempts"
        wait_for(lambda: not processes_of(tmp_path / busy / "units"))


def test_a_scheduler_that_is_gone_ends_it_and_resuming_makes_what_is_missing(
    run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    asked = (
        f"A={wheel}", f"B={wheel}", *QUIETLY, "-s", "dynamic", "-s", "partitioned",
        "--rounds", "3", "--results", results,
    )  # fmt: skip
    with cluster(tmp_path, "x") as (address, processes):
        comparing = start(*asked, "--on", address)
        wait_for(lambda: bool(finished_units(results)))
        processes[""].kill()
        out, err = comparing.communicate(timeout=30)
        assert comparing.returncode == 3, out + err
        assert "is gone" in err and "--resume" in err
        wait_until_empty(tmp_path / "x")
    (done,) = finished_units(results)
    kept = (results / ".units" / done / f"{done}.json").read_bytes()
    with cluster(tmp_path / "again", "y") as (address, _):
        resumed = run_compare(*asked, "--resume", "--on", address)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    records = records_of(results)
    assert {name: len(one.measurements) for name, one in records.items()} == {
        "dynamic": 6, "partitioned": 6
    }  # fmt: skip
    assert (results / f"{done}.json").read_bytes() == kept
    assert not (results / ".units").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ending_it_ends_what_workers_do_and_leaves_nothing(
    how: signal.Signals, tmp_path: Path, shared: Shared
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 5")
    on = ("--on", shared.address, "--results", tmp_path / "results")
    comparing = start(wheel, *QUIETLY, "-s", "dynamic", *on)
    wait_for(lambda: any(entries(cache / "runs") for cache in shared.caches))
    comparing.send_signal(how)
    assert comparing.wait(10) == (130 if how == signal.SIGINT else -signal.SIGKILL)
    wait_until_empty(*shared.caches)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ending_it_with_workers_of_its_own_leaves_no_process(
    how: signal.Signals, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 5")
    comparing = start(
        wheel, *QUIETLY, "-s", "dynamic", "--on", "local:2", "--results", tmp_path / "results"
    )
    wait_for((tmp_path / "results" / "comparison.json").exists)
    children = psutil.Process(comparing.pid).children(recursive=True)
    assert len(children) >= len(("scheduler", "worker", "worker", "unit"))
    comparing.send_signal(how)
    assert comparing.wait(10) == (130 if how == signal.SIGINT else -signal.SIGKILL)
    wait_for(lambda: not any(child.is_running() for child in children))


def test_every_machine_measures_all_of_it_and_is_resumed(
    run_compare: Compare, tmp_path: Path, shared: Shared
) -> None:
    plain = standin.revision(tmp_path / "plain")
    large = standin.revision(tmp_path / "large", LARGE, "C")
    asked = (plain, large, *QUIETLY, "-s", "dynamic", "--fail-on", "rss:100%", "--max-rounds", "6")
    results = tmp_path / "results"
    on = (*asked, "--on", shared.address, "--everywhere")
    done = run_compare(*on)
    again = run_compare(*on, "--resume", "--results", results)
    alone = run_compare(*asked, "--everywhere", "--on", "local:1", "--results", tmp_path / "no")
    assert (alone.returncode, "only one" in alone.stderr) == (2, True), alone.stderr
    assert done.returncode == 1, done.stdout + done.stderr
    for name in "xy":
        (record,) = records_of(results / name).values()
        assert {run.round for run in record.measurements} == {1, 2, 3, 4, 5, 6}
    assert again.returncode == 1, again.stdout + again.stderr
    assert "warm-up" not in again.stdout, "there is nothing left to measure"
    kept = json.loads((results / "machines.json").read_text())
    assert [one["outcome"] for one in kept["verdicts"].values()] == ["fail", "fail"]


@pytest.mark.parametrize("ending", [False, True])
def test_two_comparisons_share_the_machines_and_neither_ends_with_the_other(
    ending: bool, tmp_path: Path, shared: Shared
) -> None:
    # The one that is to be ended would not end by itself; its runs may keep the other waiting.
    wheels = {
        "one": standin.revision(tmp_path / "w", "sleep 0.5"),
        "other": standin.revision(tmp_path / "v", "sleep 30" if ending else "sleep 0.5"),
    }
    asked = (*QUIETLY, "-s", "dynamic", "-s", "partitioned", "--rounds", "2")
    one, other = (
        start(wheel, *asked, "--on", shared.address, "--results", tmp_path / name)
        for name, wheel in wheels.items()
    )
    wait_for((tmp_path / "other" / "comparison.json").exists)
    if ending:
        other.send_signal(signal.SIGINT)
    assert other.wait(120) == (130 if ending else 0)
    assert one.wait(120) == 0
    records = [*records_of(tmp_path / "one").values()]
    if not ending:
        records += records_of(tmp_path / "other").values()
    assert all({run.round for run in record.measurements} == {1, 2} for record in records)
    runs = sorted(span for record in records for span in spans(record))
    assert len(runs) == 2 * len(records) > 0
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(runs))


@pytest.mark.smoke
def test_a_failure_that_is_known_ends_all_where_no_more_is_wanted(
    run_compare: Compare, tmp_path: Path
) -> None:
    plain = standin.revision(tmp_path / "plain")
    large = standin.revision(tmp_path / "large", LARGE, "C")
    done = run_compare(
        plain, large, *QUIETLY, "-s", "dynamic", "-s", "partitioned", "--on", "local:1",
        "--fail-on", "rss:100%", "--max-rounds", "6", "--fail-fast",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    rounds = [len(one.measurements) for one in records_of(tmp_path / "results").values()]
    assert sorted(rounds) == [0, 12]
