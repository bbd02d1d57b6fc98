"""Who may talk to schedulers and workers, who is refused, and what is left out: on loopback."""

import shutil
import subprocess
from pathlib import Path

import dask.config
import psutil
import pytest

from tests import standin
from tests.bisect_repository import Plan
from tests.cluster.conftest import Shared
from tests.clusters import (
    cache_of_its_own,
    certified,
    cluster,
    make_certificate,
    scheduler,
    worker,
)
from tests.conftest import PROGRAM, Compare, written
from waitbench.cluster import dask_hosts
from waitbench.model.errors import UsageError
from waitbench.model.run import NOT_BUILT
from waitbench.store import comparisons

pytestmark = pytest.mark.integration

QUIETLY = ("--no-plot", "--no-instruments")


def test_a_worker_of_another_version_is_refused(
    run_compare: Compare, tmp_path: Path, shared: Shared
) -> None:
    wheel = standin.revision(tmp_path / "w")
    old = {"BENCH_TEST_VERSION": "0.0.1+old"}
    with worker(shared.address.replace("dask:", "tcp:"), tmp_path / "cache", "elder", old):
        refused = run_compare(wheel, *QUIETLY, "--on", shared.address)
    assert refused.returncode == 2, refused.stderr
    assert "node elder has waitbench 0.0.1+old" in refused.stderr
    assert not (tmp_path / "results").exists()


def test_a_revision_that_cannot_be_built_is_said_once_and_the_others_are_measured(
    run_compare: Compare,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    shared: Shared,
) -> None:
    plan = Plan(commits=3, cpu_s=0.1, culprits={}, unbuildable=range(1, 2))
    repository, ids = written(tmp_path_factory, plan)
    revisions = [f"{label}=standin@{one}" for label, one in zip("ABC", ids, strict=True)]
    asked = (*revisions, "--repo", repository, *QUIETLY, "-s", "dynamic", "-s", "partitioned")
    on = ("--rounds", "1", "--on", shared.address, "--results", tmp_path / "there")
    done = run_compare(*asked, *on)
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("B: python failed") == 1
    assert "made not to build" in done.stdout
    here = run_compare(*asked, "--rounds", "1", "--results", tmp_path / "here")
    assert here.returncode == 3
    for folder in ("there", "here"):
        for record in comparisons.read(tmp_path / folder).records:
            assert {one.label for one in record.measurements} == {"A", "C"}
            assert [(one.label, one.reason) for one in record.outcomes] == [("B", NOT_BUILT)]


def test_without_certificates_nobody_elsewhere_can_talk_to_it(shared: Shared) -> None:
    for process in shared.processes:
        connections = psutil.Process(process.pid).net_connections()
        listening = {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}


def test_nobody_to_ask_is_said_within_seconds(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w")
    alone = run_compare(wheel, *QUIETLY, "--on", "dask://127.0.0.1:9", timeout=30)
    assert (alone.returncode, "No scheduler" in alone.stderr) == (3, True), alone.stderr
    with cluster(tmp_path, "") as (address, _):
        empty = run_compare(wheel, *QUIETLY, "--on", address, timeout=30)
    assert (empty.returncode, "has no node" in empty.stderr) == (3, True), empty.stderr
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


ROLES: dict[str, tuple[object, ...]] = {
    "client": ("compare", "v0.16.0", *QUIETLY, "--on", "tls://127.0.0.1:9"),
    "worker": ("node", "tls://127.0.0.1:9"),
    "scheduler": ("scheduler", "--port", "0", "--host", "127.0.0.1"),
}


@pytest.mark.parametrize("role", ROLES)
def test_each_asks_for_a_certificate_that_can_be_read(
    role: str, run_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pem").touch()
    name = f"DASK_DISTRIBUTED__COMM__TLS__{role.upper()}__CERT"
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(tmp_path / "pem"))
    monkeypatch.setenv(name, str(tmp_path / "nowhere.pem"))
    command, *arguments = ROLES[role]
    wrong = run_compare(*arguments, command=command, timeout=40)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1), wrong.stderr
    assert f"{name}: there is no file '{tmp_path}/nowhere.pem'" in wrong.stderr


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("setting", ["ca-file", "cert", "key"])
def test_a_file_of_tls_that_is_not_there_is_named(role: str, setting: str, tmp_path: Path) -> None:
    (tmp_path / "pem").touch()
    prefix = "distributed.comm.tls."
    of_role = setting if setting == "ca-file" else f"{role}.{setting}"
    whole = dict.fromkeys((f"{prefix}ca-file", f"{prefix}{role}.cert", f"{prefix}{role}.key"))
    whole = dict.fromkeys(whole, str(tmp_path / "pem"))
    name = f"DASK_{prefix}{of_role}".replace("-", "_").replace(".", "__").upper()
    with dask.config.set(whole):
        dask_hosts.require_certificate(role)
    lacking = {**whole, f"{prefix}{of_role}": str(tmp_path / "nowhere.pem")}
    with dask.config.set(lacking), pytest.raises(UsageError, match=f"{name}: there is no file"):
        dask_hosts.require_certificate(role)
    with dask.config.set({**whole, f"{prefix}{of_role}": None}):
        if setting == "key":  # which may be in the certificate's file
            dask_hosts.require_certificate(role)
            return
        with pytest.raises(UsageError, match=f"set {name}"):
            dask_hosts.require_certificate(role)


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
