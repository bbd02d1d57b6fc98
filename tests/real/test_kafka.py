"""Workers that wait for a real broker."""

import json
import shutil
from pathlib import Path

import psutil
import pytest

from tests.conftest import Compare

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not (shutil.which("java") and shutil.which("mvn")),
        reason="a broker takes Java 17 and Maven: apt-get install openjdk-17-jre-headless maven",
    ),
]

WORKERS = ("consumer@2.16.1", "v0.21.1", "quixstreams@3.28.0", "faust@0.15.3")


def test_every_message_comes_out_and_nothing_is_left(run_compare: Compare, tmp_path: Path) -> None:
    done = run_compare(
        *WORKERS, "-s", "kafka-ended", "--rounds", "1", "--no-plot",
        "--no-instruments", "--set", "partitions=3", "--set", "idle=0.5", timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "results" / "kafka-ended.json").read_text())
    assert len(data["results"]) == len(WORKERS)
    for result in data["results"]:
        for run in result["measurements"]:
            assert "unbalanced" not in run["marks"]
        summary = result["summary"]
        assert summary["items_out"]["min"] == summary["items_in"]["min"] == 40
        assert summary["service_cpu_broker"]["min"] > 0
        assert summary["broker_delay_p50"]["min"] > 0
        assert summary["worker_threads"]["min"] > 1
    assert "in the broker" in done.stdout
    # None for zombies, whosoever they are.
    lines = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if "services.kafka.broker" in line or "kafka.Kafka" in line]
