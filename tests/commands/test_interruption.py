"""Comparisons that are stopped, resumed, or begun twice."""

import re
import signal
from pathlib import Path

import pytest

from tests import standin
from tests.commands.processes import orphans, start, wait_for_runs
from tests.conftest import Compare
from tests.waiting import until
from waitbench.model.run import Measurement
from waitbench.store import comparisons

pytestmark = pytest.mark.integration

COMMON = ("--scenario", "dynamic", "--no-plot")


def measured(folder: Path) -> dict[tuple[str, int], Measurement]:
    (record,) = comparisons.read(folder).records
    return {(run.label, run.round): run for run in record.measurements}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_comparison_keeps_its_runs_leaves_no_process_and_resumes(
    how: signal.Signals, run_compare: Compare, tmp_path: Path
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.5")
    results = tmp_path / "results"
    arguments = [f"A={wheel}", f"B={wheel}", *COMMON, "--rounds", "4", "--results", results]
    process = start(*arguments)
    wait_for_runs(results, 3)
    process.send_signal(how)
    said, _ = process.communicate(timeout=10)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    so_far = said.partition("Interrupted. What was")[2]
    assert ("RESULT   B against A, so far" in so_far) is (how != signal.SIGKILL)
    assert (results / "runs.csv").exists() is (how != signal.SIGKILL)
    until(lambda: not orphans(), each_s=0.05)
    kept = measured(results)
    assert kept
    done = run_compare(*arguments, "--resume")
    assert done.returncode == 0, done.stderr
    after = measured(results)
    assert sorted(after) == [(label, number) for label in "AB" for number in range(1, 5)]
    whole = {key: run for key, run in kept.items() if {("A", key[1]), ("B", key[1])} <= set(kept)}
    assert whole
    assert {key: after[key] for key in whole} == whole, "what was measured is not measured again"
    half = kept.keys() - whole.keys()
    assert all(after[key] != kept[key] for key in half), "half a round is measured anew"
    assert comparisons.read(results).comparison.finished


def test_an_interrupted_gate_says_what_it_knows_and_how_long_it_may_take_yet(
    tmp_path: Path,
) -> None:
    wheel = standin.revision(tmp_path / "w", "sleep 0.2")
    results = tmp_path / "results"
    arguments = [f"A={wheel}", f"B={wheel}", *COMMON, "--results", results, "--budget", "600"]
    process = start(*arguments, "--fail-on", "cpu:0.1%")
    wait_for_runs(results, 7)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=10)
    assert process.returncode == 130
    runs, so_far = said.split("Interrupted. What was measured so far says:")
    assert re.search(r"\(at most \d+ s left\)", runs)
    assert "INCONCLUSIVE" in so_far
    assert not (results / "verdict.json").exists()
