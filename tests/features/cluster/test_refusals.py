"""Who cannot measure for whom, and what is said of it."""

from pathlib import Path
from types import SimpleNamespace

import dask
import pytest

from tests import standin
from tests.commands.processes import start
from tests.conftest import Compare, Said, written
from tests.features.cluster.conftest import Cluster, started
from tests.waiting import until
from waitbench import engines
from waitbench.features.cluster import on_dask, on_worker
from waitbench.features.cluster.extension import ClusterExtension
from waitbench.features.cluster.on_dask import SHARDS
from waitbench.model.errors import UsageError
from waitbench.pipeline.extension import Extension
from waitbench.pipeline.request import Request
from waitbench.reporting.output import Output
from waitbench.store import comparisons
from waitbench.system import installation

QUIETLY = ("--no-plot", "-s", "dynamic", "--rounds", "1")
integration = pytest.mark.integration


def test_a_survey_is_refused_as_it_is_of_one_machine() -> None:
    class Survey(Extension):
        survey_option = "--figures"

    request = Request(revisions=("a", "b"), argv=(), extensions=(Survey(),))
    with (
        pytest.raises(UsageError, match="--on does not go with --figures"),
        on_dask.run("tcp://h:9", (), None, request, Output()),
    ):
        pass
    with pytest.raises(UsageError, match="--shard does not go with --figures"):
        ClusterExtension(shard="1/2").shard_of(request, ())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--on", "tcp://h:9", "--shard", "1/2"), "--on does not go with --shard"),
        (("--on", "tcp://h"), "--on 'tcp://h' is not tcp://HOST:PORT"),
        (("--on", "h:9:9"), "--on 'h:9:9' is not tcp://HOST:PORT"),
    ],
)
def test_an_address_or_a_shard_that_fits_nothing_is_refused_and_nothing_created(
    options: tuple[str, ...], says: str, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engines, "DEFAULT", standin.StandIn())
    code, out, err = said("compare", "r0.0.1", "r0.0.2", "--results", tmp_path / "no", *options)
    assert (code, out, says in err) == (2, "", True), err
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("profiles", "nanny", "threads", "version", "says"),
    [
        (False, None, 1, "another", "differs in waitbench: .* there, another here"),
        (True, None, 1, installation.version_now(), "has dask's profiler"),
        (False, "tcp://x", 1, installation.version_now(), "its nanny"),
        (False, None, 2, installation.version_now(), "several threads"),
    ],
)
def test_an_unfit_worker_is_refused_by_name(
    profiles: bool, nanny: str | None, threads: int, version: str, says: str
) -> None:
    worker = SimpleNamespace(name="elder", nanny=nanny, state=SimpleNamespace(nthreads=threads))
    with (
        dask.config.set({"distributed.worker.profile.enabled": profiles}),
        pytest.raises(UsageError, match=f"The worker elder .*{says}"),
    ):
        on_worker.require_same({"waitbench": version}, worker)


@integration
def test_an_unfit_worker_is_asked_before_anything_is_measured(
    run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w")
    with started(tmp_path / "cluster") as cluster:
        cluster.add("elder", "--nthreads", "1", "--no-dashboard")
        refused = run_compare(wheel, *QUIETLY, "--on", cluster.address)
    assert (refused.returncode, "The worker elder has " in refused.stderr) == (2, True), refused
    assert not (tmp_path / "results").exists()


@integration
def test_nobody_to_ask_is_said_within_seconds(run_compare: Compare, tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w")
    alone = run_compare(wheel, *QUIETLY, "--on", "tcp://127.0.0.1:9", timeout=60)
    assert (alone.returncode, "No scheduler answers" in alone.stderr) == (3, True), alone.stderr
    with started(tmp_path / "cluster") as cluster:
        empty = run_compare(wheel, *QUIETLY, "--on", cluster.address, timeout=60)
    assert (empty.returncode, "has no worker" in empty.stderr) == (3, True), empty.stderr
    assert not (tmp_path / "results").exists()


@integration
def test_a_scheduler_that_is_gone_ends_it_and_what_is_measured(tmp_path: Path) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 5")
    results = tmp_path / "results"
    with started(tmp_path / "cluster", "x") as cluster:
        comparing = start(wheel, *QUIETLY, "--on", cluster.address, "--results", results)
        cluster.busy()
        (shard,) = cluster.shards("x")
        cluster.processes["scheduler"].kill()
        _, err = comparing.communicate(timeout=60)
        assert (comparing.returncode, "--resume" in err) == (3, True), err
        until(lambda: not shard.is_running())
    assert (results / SHARDS).is_dir()


@integration
def test_a_commit_is_built_once_and_recorded_as_it_was_named(
    run_compare: Compare,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    cluster: Cluster,
) -> None:
    repository, ids = written(tmp_path_factory, 0.1, 0.1)
    revisions = [f"{label}={one}" for label, one in zip("AB", ids, strict=True)]
    asked = (*revisions, *QUIETLY, "-s", "partitioned", "--repo", repository)
    done = run_compare(*asked, "--on", cluster.address)
    assert done.returncode == 0, done.stdout + done.stderr
    found = comparisons.read(tmp_path / "results").comparison
    assert [(one.label, one.text, one.origin, one.commit) for one in found.revisions] == [
        (label, one, "source", one) for label, one in zip("AB", ids, strict=True)
    ]
    assert "--on" in found.argv
