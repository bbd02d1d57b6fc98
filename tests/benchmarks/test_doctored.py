"""A doctored wheel, and what trials with it come to."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks import doctored
from tests.benchmarks.judged import FAILED, judgement, trial
from tests.records import make_record
from waitbench.model.record import Record

RUN_MODULE = """\
import threading

def cli_main(**kwargs):
    print(threading.active_count() - 1)

if __name__ == "__main__":
    kwargs = {}
    cli_main(**kwargs)
"""
WAITING = "/here/dynamic.py:get_flow(long_input=True, heavy_map=False)"
WORKING = "/here/dynamic.py:get_flow(long_input=True, heavy_map=True)"


def write_wheel(folder: Path, run_module: str = RUN_MODULE) -> Path:
    """A wheel that holds the module that starts workers, and nothing else."""
    wheel = folder / "bytewax-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as output:
        output.writestr("bytewax/__init__.py", "")
        output.writestr("bytewax/run.py", run_module)
    return wheel


def record(base: dict[str, float], new: dict[str, float]) -> Record:
    """Two rounds of a scenario that waits."""
    return make_record({"base": [base] * 2, "new": [new] * 2}, scenario="dynamic-long-input")


@pytest.mark.parametrize(("flow", "threads"), [(WAITING, "1"), (WORKING, "0")])
def test_a_doctored_package_starts_its_load_with_the_workers(
    tmp_path: Path, flow: str, threads: str
) -> None:
    copy = doctored.doctor(write_wheel(tmp_path), tmp_path / "copy", "wakeups", {"dynamic": 1.0})
    done = subprocess.run(
        [sys.executable, "-m", "bytewax.run", flow],
        env={**os.environ, "PYTHONPATH": str(copy)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == threads


def test_equal_loads_give_equal_wheels(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    one, other = (
        doctored.doctor(wheel, tmp_path / name, "system", {"dynamic": 0.1}).read_bytes()
        for name in ("one", "other")
    )
    assert one == other


def test_a_folder_is_of_one_load(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    for _ in range(2):
        doctored.doctor(wheel, tmp_path / "copy", "system", {"dynamic": 0.1})
    with pytest.raises(SystemExit, match="has another load"):
        doctored.doctor(wheel, tmp_path / "copy", "system", {"dynamic": 0.2})


def test_a_wheel_that_starts_workers_otherwise_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, run_module="print('hello')\n")
    with pytest.raises(SystemExit, match="does not start workers as expected"):
        doctored.doctor(wheel, tmp_path / "copy", "user", {})


def test_rates_are_of_one_process_in_its_steady_phase() -> None:
    # Two workers, each for 2 s at a tenth of a core.
    metrics = {"wakeups": 8000.0, "time_cpu_steady": 0.4, "cpu_share_steady": 0.2}
    records = [record(metrics, metrics)]
    assert doctored.rates_of(records, "wakeups", 2) == {"standin": pytest.approx(2000)}
    assert doctored.rates_of(records, "steady", 2) == {"standin": pytest.approx(0.1)}


def test_what_was_not_measured_has_no_rate() -> None:
    metrics = {"time_cpu_steady": 0.4, "cpu_share_steady": 0.2}
    assert doctored.rates_of([record(metrics, metrics)], "syscalls", 2) == {}


def test_the_realised_rise_is_of_all_rounds_of_all_comparisons() -> None:
    records = [record({"wakeups": 100.0}, {"wakeups": new}) for new in (110.0, 121.0)]
    (rise,) = doctored.realised([one] for one in records)
    assert (rise.metric, rise.ratio.count) == ("wakeups", 4)
    assert rise.ratio.value == pytest.approx((1.10 * 1.21) ** 0.5)


def test_scenarios_that_work_are_no_part_of_the_realised_rise() -> None:
    runs = [{"wakeups": 100.0}] * 2
    assert doctored.realised([[make_record({"base": runs, "new": runs})]]) == []


def test_a_summary_counts_what_was_found_and_by_which_criterion() -> None:
    by_both = trial(FAILED, {**FAILED, "criterion": "steady:25%"}, wall_s=30)
    lines = doctored.summary([trial(FAILED), by_both, trial(judgement(), wall_s=50)])
    assert lines == [
        "found 2 of 3, by wakeups:5% (2), steady:25% (1)",
        "median 30 s, of which 15 s measuring; at most 50 s",
    ]


def test_the_line_of_a_trial_names_what_found_it() -> None:
    assert doctored.line_of(trial(FAILED)) == (
        "found by wakeups:5% in waiting: slower ×1.1 after 4 rounds; 4 rounds; "
        "10 s, of which 5 s measuring"
    )
    assert doctored.line_of(trial(judgement())).startswith("missed; 3 rounds")
