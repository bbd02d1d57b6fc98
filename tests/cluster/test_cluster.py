"""Who may talk to schedulers and workers, who is refused, and what is left out: on loopback."""

import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from tests import standin
from tests.bisect_repository import Plan
from tests.clusters import (
    cache_of_its_own,
    certified,
    cluster,
    make_certificate,
    scheduler,
    worker,
)
from tests.conftest import PROGRAM, Compare, written
from waitbench.model.run import NOT_BUILT
from waitbench.store import comparisons

pytestmark = pytest.mark.integration

QUIETLY = ("--no-plot", "--no-instruments")


def test_a_worker_of_another_version_is_refused(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w")
    with cluster(tmp_path, "") as (address, _):
        old = {"BENCH_TEST_VERSION": "0.0.1+old"}
        tcp = address.replace("dask:", "tcp:")
        with worker(tcp, tmp_path / "cache", "elder", old):
            refused = run_compare(wheel, *QUIETLY, "--on", address)
    assert refused.returncode == 2, refused.stderr
    assert "worker elder has waitbench 0.0.1+old" in refused.stderr
    assert not (tmp_path / "results").exists()


def test_a_revision_that_cannot_be_built_is_said_once_and_the_others_are_measured(
    run_compare: Compare, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    plan = Plan(commits=3, cpu_s=0.1, culprits={}, unbuildable=range(1, 2))
    repository, ids = written(tmp_path_factory, plan)
    revisions = [f"{label}=standin@{one}" for label, one in zip("ABC", ids, strict=True)]
    asked = (*revisions, "--repo", repository, *QUIETLY, "-s", "dynamic", "-s", "partitioned")
    with cluster(tmp_path, "x") as (address, _):
        done = run_compare(
            *asked, "--rounds", "1", "--on", address, "--results", tmp_path / "there"
        )
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("B: python failed") == 1
    assert "made not to build" in done.stdout
    here = run_compare(*asked, "--rounds", "1", "--results", tmp_path / "here")
    assert here.returncode == 3
    for folder in ("there", "here"):
        for record in comparisons.read(tmp_path / folder).records:
            assert {one.label for one in record.measurements} == {"A", "C"}
            assert [(one.label, one.reason) for one in record.outcomes] == [("B", NOT_BUILT)]


def test_without_certificates_nobody_elsewhere_can_talk_to_it(tmp_path: Path) -> None:
    with cluster(tmp_path, "x") as (_, processes):
        for process in processes.values():
            connections = psutil.Process(process.pid).net_connections()
            listening = {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}
            assert listening == {"127.0.0.1"}


def test_nobody_to_ask_is_said_within_seconds(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w")
    alone = run_compare(wheel, *QUIETLY, "--on", "dask://127.0.0.1:9", timeout=30)
    assert (alone.returncode, "No scheduler" in alone.stderr) == (3, True), alone.stderr
    with cluster(tmp_path, "") as (address, _):
        empty = run_compare(wheel, *QUIETLY, "--on", address, timeout=30)
    assert (empty.returncode, "has no worker" in empty.stderr) == (3, True), empty.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_who_has_no_certificate_is_refused(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w")
    asked = (wheel, *QUIETLY, "-s", "dynamic", "--rounds", "1")
    for name in ("theirs", "ours"):
        make_certificate(tmp_path / name)
    variables = certified(tmp_path / "ours")
    options = ("--port", "0", "--host", "127.0.0.1")
    with scheduler(*options, variables=variables) as (_, address):
        assert address.startswith("tls://")
        with worker(address, cache_of_its_own(tmp_path / "x"), "x", variables):
            plainly = run_compare(*asked, "--on", address.replace("tls:", "dask:"), timeout=40)
            without = run_compare(*asked, "--on", address, timeout=40)
            with pytest.MonkeyPatch.context() as patch:
                for variable, value in certified(tmp_path / "theirs").items():
                    patch.setenv(variable, value)
                forged = run_compare(*asked, "--on", address, timeout=40)
                for variable, value in variables.items():
                    patch.setenv(variable, value)
                welcome = run_compare(*asked, "--on", address)
    assert (plainly.returncode, "certificates" in plainly.stderr) == (3, True), plainly.stderr
    assert (without.returncode, "certificate" in without.stderr) == (2, True), without.stderr
    assert (forged.returncode, "certificate" in forged.stderr) == (3, True), forged.stderr
    assert welcome.returncode == 0, welcome.stdout + welcome.stderr


@pytest.mark.parametrize("role", ["client", "worker", "scheduler"])
@pytest.mark.parametrize("setting", ["CA_FILE", "CERT", "KEY"])
def test_a_file_of_tls_that_is_not_there_is_named(
    role: str, setting: str, run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pem").touch()
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    names = {"CA_FILE": f"{prefix}CA_FILE"}
    names |= {one: f"{prefix}{role.upper()}__{one}" for one in ("CERT", "KEY")}
    for name in names.values():
        monkeypatch.setenv(name, str(tmp_path / "pem"))
    wheel = standin.revision(tmp_path / "w")
    asked: dict[str, tuple[object, ...]] = {
        "client": ("compare", wheel, *QUIETLY, "--on", "tls://127.0.0.1:9"),
        "worker": ("worker", "tls://127.0.0.1:9", "--cache", str(tmp_path / "cache")),
        "scheduler": ("scheduler", "--port", "0", "--host", "127.0.0.1"),
    }
    command, *arguments = asked[role]
    monkeypatch.setenv(names[setting], str(tmp_path / "nowhere.pem"))
    wrong = run_compare(*arguments, command=command, timeout=40)
    assert wrong.returncode == 2, wrong.stderr
    assert f"{names[setting]}: there is no file '{tmp_path}/nowhere.pem'" in wrong.stderr
    if setting == "CA_FILE":
        monkeypatch.delenv(names[setting])
        lacking = run_compare(*arguments, command=command, timeout=40)
        assert (lacking.returncode, lacking.stderr.count("\n")) == (2, 1), lacking.stderr
        assert f"set {names[setting]}." in lacking.stderr


def test_a_scheduler_without_a_route_outside_asks_where_to_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificate(tmp_path / "ours")
    alone = ["unshare", "--net", *PROGRAM, "scheduler", "--port", "0"]
    if subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        pytest.skip("only root may leave the network")
    for name, value in certified(tmp_path / "ours").items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(alone, capture_output=True, text=True, check=False, timeout=40)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "with --host ADDRESS" in done.stderr


def test_what_a_machine_lacks_for_everything_is_said_once_and_no_empty_folder_is_named(
    run_compare: Compare, tmp_path: Path
) -> None:
    programs, cache = tmp_path / "programs", cache_of_its_own(tmp_path / "x")
    programs.mkdir()
    (programs / "env").symlink_to(shutil.which("env") or "/usr/bin/env")
    (cache / "tools").unlink(missing_ok=True)
    wheel, two = standin.revision(tmp_path / "w"), ("-s", "dynamic", "-s", "partitioned")
    with (
        scheduler() as (_, address),
        worker(address, cache, "x", {"PATH": str(programs)}),
    ):
        there = address.replace("tcp:", "dask:")
        done = run_compare(wheel, *QUIETLY, *two, "--rounds", "1", "--on", there, timeout=120)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("hyperfine is missing and could not be set up") == 1
    assert "dynamic, partitioned: x: hyperfine is missing" in done.stderr
    assert done.stdout.count("is begun anew elsewhere") == 1
    assert "kept in" not in done.stderr
    assert not (tmp_path / "results").exists()
