"""Results for notebooks, and files for other tools. Hyperfine's: test_hyperfine_scripts.py."""

import json
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

import waitbench
from tests.frozen.checking import check
from tests.records import make_record, measurement, outcome, specify, times
from tests.store.keeping import finish, recorded
from waitbench.model.metrics import METRICS, Metric
from waitbench.store import comparisons, frames
from waitbench.system.paths import ROOT

SAMPLE = ROOT / "docs" / "samples" / "input"


def test_exports_hold_runs_for_hyperfine_1_and_2_and_a_row_for_each_with_its_own_metrics(
    tmp_path: Path,
) -> None:
    """A metric that some runs lack has no summary, and an unmeasured revision no result."""
    some = [{**times(3, 0.75, 0.5), "wakeups": 7}, times(1, 0.5, 0.25)]
    record = make_record({"a": some, "b": [times(2, 1, 0.5)], "c": []})
    record.add(outcome("c", 1, "failed"))
    special = make_record({"a": []}, scenario="special")
    specify(special, metrics=(*METRICS, Metric("own", "own_metric", "byte", "a worker's own")))
    special.add(measurement("a", 1, {**times(1, 1, 1), "own_metric": 7, "undeclared": 8}))
    frames.export(tmp_path, [record, special])
    for name in ("waiting.json", "special.json"):
        check(f"exports/{name}", (tmp_path / name).read_text("utf-8"))
    header, *rows = (tmp_path / "runs.csv").read_text("utf-8").splitlines()
    assert header.split(",")[7:] == [*(metric.key for metric in METRICS), "own_metric"]
    assert rows[-1].endswith(",7"), "undeclared metrics are left out"


def test_exports_have_no_user_and_system_time_of_runs_that_lack_cpu(tmp_path: Path) -> None:
    frames.export(tmp_path, [make_record({"a": [{"time_wall_clock": 2.0}]}, scenario="lost")])
    (result,) = json.loads((tmp_path / "lost.json").read_text())["results"]
    assert (result["mean"], result["user"], result["system"]) == (2.0, None, None)


def test_runs_are_the_rows_of_the_file_of_all_runs(tmp_path: Path) -> None:
    records = comparisons.read(SAMPLE).records
    runs = records[0].measurements
    runs[0] = replace(runs[0], marks=("restarted", "side-by-side"))
    frames.export(tmp_path, records)
    in_file, table = pd.read_csv(tmp_path / "runs.csv"), frames.frame(records)
    assert [*table] == [*in_file]
    for key in table:
        assert table[key].dropna().tolist() == in_file[key].dropna().tolist()
        assert table[key].isna().tolist() == in_file[key].isna().tolist()
    assert table["marks"].dropna().tolist() == ["restarted side-by-side"]
    assert waitbench.read(str(SAMPLE))["started_at"].dt.year.min() >= 2020


def test_where_there_are_no_results_is_a_value_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match="Measure first"):
            waitbench.read(folder)


def test_whole_numbers_stay_whole_where_a_run_has_none(tmp_path: Path) -> None:
    record = recorded()
    record.add(measurement("a", 3, {**times(1.5, 1, 1), "wakeups": 7}))
    finish(tmp_path, record)
    runs = waitbench.read(tmp_path)
    assert (runs["wakeups"].dtype, runs["time_wall_clock"].dtype) == ("Int64", "float64")
    assert runs["wakeups"].dropna().tolist() == [7]
    assert ",7," in (tmp_path / "runs.csv").read_text()
