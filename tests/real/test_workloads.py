"""Real releases under real hyperfine: the workloads on every generation of the API."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import Compare
from waitbench.system.machine import find_instruments
from waitbench.system.paths import ROOT

pytestmark = pytest.mark.integration

RELEASES = ["v0.16.2", "v0.17.2", "v0.18.2", "v0.21.1"]
"""One of each generation of the API."""
HOLDING = {
    "windowed": (16 * 8, RELEASES),
    "notify": (16 * 8, ["v0.18.2", "v0.21.1"]),
    "ended": (15 * 20, RELEASES),
}
"""Kinds of input, how many items come out of each, and of which releases."""
QUICKLY = ["--rounds", "1", "--no-plot"]


@pytest.fixture(autouse=True)
def of_bytewax(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has tests/runner_with_standin.py leave bytewax what is compared."""
    monkeypatch.setenv("BENCH_BYTEWAX", "1")


def test_the_workloads_run_on_every_generation_of_the_api(
    run_compare: Compare, tmp_path: Path
) -> None:
    # At once and over time, alone and with work on each item: what is between differs in numbers.
    names = ("partitioned", "dynamic", "*-long-input-heavy-map")
    kinds = [argument for name in names for argument in ("--scenario", name)]
    quick = ["--set", "interval=0.01", "--set", "heaviness=100", *QUICKLY]
    done = run_compare(*RELEASES, *kinds, *quick, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted((tmp_path / "results").glob("*.json"))
    files.remove(tmp_path / "results" / "comparison.json")
    assert len(files) == 4
    for path in files:
        data = json.loads(path.read_text())
        assert [result["command"] for result in data["results"]] == RELEASES, path.name
        for summary in (result["summary"] for result in data["results"]):
            assert "wakeups" in summary, "of its window"
            counts_calls = find_instruments().tracepoint is not None
            assert ("system_calls" in summary) is counts_calls


OWN_DATAFLOW = """
import bytewax.operators as op
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource

flow = Dataflow("own")
op.output("out", op.map("text", op.input("in", flow, TestingSource(range(9))), str), StdOutSink())
"""


def test_the_worker_file_of_the_document_measures_a_dataflow_of_ones_own(
    run_compare: Compare, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
    (worker_file,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "flow.toml").write_text(worker_file)
    (tmp_path / "mine.py").write_text(OWN_DATAFLOW)
    done = run_compare("--worker", tmp_path / "flow.toml", "0.21.1", *QUICKLY)
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "results" / "flow.json").read_text())
    assert data["results"][0]["summary"]["time_cpu"]["mean"] > 0


def test_all_other_kinds_of_input_work_and_what_a_revision_cannot_do_is_no_error(
    run_compare: Compare, tmp_path: Path
) -> None:
    quick = ["--set", "interval=0.02", "--set", "idle=0.3", *QUICKLY]
    # A dynamic source holds items as a partitioned one does: it is the same step behind it.
    names = [
        "*-scheduled",
        "partitioned-idle",
        "partitioned-burst",
        *(f"partitioned-{kind}" for kind in HOLDING),
    ]
    kinds = [argument for name in names for argument in ("--scenario", name)]
    # All generations in two processes are above.
    done = run_compare(*RELEASES, *quick, *kinds, "--topology", "single", timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "v0.16.2 · not-supported" in done.stdout
    for kind, (items, able) in HOLDING.items():
        held = json.loads((tmp_path / "results" / f"partitioned-{kind}.json").read_text())
        assert [result["command"] for result in held["results"]] == able
        assert all(result["summary"]["items_out"]["mean"] == items for result in held["results"])
        assert all(result["summary"]["wakeups"]["mean"] > 0 for result in held["results"])
    for family in ("partitioned", "dynamic"):
        scheduled = json.loads((tmp_path / "results" / f"{family}-scheduled.json").read_text())
        assert [result["command"] for result in scheduled["results"]] == RELEASES[1:]
        # Asked only when there is something: a few polls an item, not one a millisecond.
        assert all(
            result["summary"]["polls_per_item"]["mean"] < 10 for result in scheduled["results"]
        )
    plain = json.loads((tmp_path / "results" / "partitioned-idle.json").read_text())
    assert all(result["summary"]["items_out"]["mean"] == 0 for result in plain["results"])


def test_many_processes_work_and_two_comparisons_do_not_fight_over_ports(
    run_compare: Compare, tmp_path: Path
) -> None:
    options = ["-p", "8", "-s", "dynamic-long-input", *QUICKLY]
    options += ["--set", "interval=0.05", "--set", "items_per_worker=5"]
    with ThreadPoolExecutor() as pool:
        both = [
            pool.submit(run_compare, "v0.21.1", *options, "--results", tmp_path / name)
            for name in ("one", "two")
        ]
        for done in both:
            assert done.result().returncode == 0, done.result().stdout + done.result().stderr


WAITING = ("-s", "partitioned-long-input", "--set", "items_per_partition=4", "--no-plot")


@pytest.mark.parametrize(
    "topology",
    [["cluster", "-p", "2"], ["launcher", "-p", "2"]],
    ids=lambda one: one[0],
)
def test_the_gate_finds_the_fix_reversed(
    topology: list[str], run_compare: Compare, tmp_path: Path
) -> None:
    undone = run_compare(
        "v0.16.1", "v0.16.0", *WAITING, "--topology", *topology, "--fail-on", "cpu:10%",
    )  # fmt: skip
    assert undone.returncode == 1, undone.stdout + undone.stderr
    assert "FAIL" in undone.stdout
    assert "<failure" in (tmp_path / "results" / "verdict.xml").read_text()
    verdict = json.loads((tmp_path / "results" / "verdict.json").read_text())
    assert max(judgement["rounds"] for judgement in verdict["judgements"]) < 30
    data = json.loads((tmp_path / "results" / "partitioned-long-input.json").read_text())
    parks, spins = (result["summary"] for result in data["results"])
    # Nothing is said of a time: polls are what the fix changed, and no noise changes them tenfold.
    assert spins["polls"]["mean"] > 10 * parks["polls"]["mean"]
    # A parked worker wakes about a thousand times a second.
    assert parks["wakeups"]["mean"] > 100


@pytest.mark.smoke
def test_the_gate_passes_the_fix(run_compare: Compare) -> None:
    done = run_compare("v0.16.0", "v0.16.1", *WAITING, "--fail-on", "cpu:10%")
    # On a busy machine three rounds may do for "within margin", and not for "faster".
    assert (done.returncode, "PASS: 1 question" in done.stdout) == (0, True), (
        done.stdout + done.stderr
    )
