"""The studies of workers/, each with few and small calls: every variant gives every metric."""

import json
from pathlib import Path

import pytest

from tests.conftest import Compare
from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS

pytestmark = pytest.mark.integration
SMALL = {
    "scoring/predict.toml": ("calls=20", "timeout_ms=50"),
    "paged-output/bench.toml": ("messages=500",),
    "embedding/load.toml": ("seconds=1", "connections=16"),
}
"""Settings that make a study last for a few seconds."""


@pytest.mark.parametrize("name", SMALL)
def test_each_variant_gives_every_metric(name: str, run_compare: Compare, tmp_path: Path) -> None:
    worker = worker_file.read(WORKERS / name)
    settings = [word for setting in SMALL[name] for word in ("--set", setting)]
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
