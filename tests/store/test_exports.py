"""Results for notebooks, and files for other tools. Hyperfine's: test_hyperfine_scripts.py."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import waitbench
from tests.records import make_record, measurement, outcome, times
from tests.store.keeping import finish, recorded
from waitbench.model.metrics import METRICS, Metric
from waitbench.store import frames
from waitbench.store.frames import for_hyperfine, frame
from waitbench.system.places import ROOT

SAMPLE = ROOT / "docs" / "samples" / "waiting"


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / frames.TABLE_NAME).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_columns_are_the_metrics_of_any_scenario_those_of_all_first(tmp_path: Path) -> None:
    own = Metric("own", "own_metric", "byte", "a worker's own")
    plain, special = make_record({"a": []}), make_record({"a": []}, scenario="special")
    special.metrics = (*METRICS, own)
    special.add(measurement("a", 1, {**times(1, 1, 1), own.key: 7, "undeclared": 8}))
    frames.export(tmp_path, [special, plain])
    (row,) = rows(tmp_path)
    assert list(row) == [
        "scenario", "revision", "round", "position", "started_at", "outcome", "marks",
        *(metric.key for metric in METRICS), "own_metric",
    ]  # fmt: skip
    assert row["own_metric"] == "7"


def test_the_keys_of_hyperfine_1_stand_beside_those_of_2() -> None:
    record = make_record({"a": [times(1, 0.5, 0.25), times(3, 0.75, 0.5)], "b": [times(2, 1, 0.5)]})
    data = for_hyperfine(record, frame([record]))
    first, second = data["results"]
    assert (data["schema_version"], data["primary_metric"]) == (2, "time_wall_clock")
    of_1 = ("command", "mean", "median", "min", "max", "times", "user", "system", "exit_codes")
    assert [first[key] for key in of_1] == ["a", 2, 2, 1, 3, [1, 3], 0.625, 0.375, [0, 0]]
    assert (first["stddev"], second["stddev"]) == (2**0.5, None)
    assert [result["parameters"] for result in data["results"]] == [
        {"revision_number": "0"},
        {"revision_number": "1"},
    ]
    assert first["summary"]["time_wall_clock"] == {
        "unit": "second", "count": 2, "mean": 2, "stddev": 2**0.5, "median": 2, "min": 1, "max": 3,
    }  # fmt: skip
    assert first["measurements"][0]["time_user"] == {"value": 0.5, "unit": "second"}
    assert first["measurements"][0]["exit_code"] == 0


def test_what_was_not_measured_is_no_result_and_what_some_runs_lack_has_no_summary(
    tmp_path: Path,
) -> None:
    record = make_record({"a": [], "b": [times(1, 1, 1), {**times(2, 1, 1), "wakeups": 7}]})
    record.add(outcome("a", 1, "failed"))
    frames.export(tmp_path, [record])
    (result,) = json.loads((tmp_path / "waiting.json").read_text())["results"]
    assert result["command"] == "b"
    assert "wakeups" not in result["summary"]
    assert [run.get("wakeups") for run in result["measurements"]] == [
        None,
        {"value": 7, "unit": "count"},
    ]


def test_runs_are_the_rows_of_the_file_of_all_runs() -> None:
    found = waitbench.read(str(SAMPLE))
    in_file = pd.read_csv(SAMPLE / "runs.csv")
    assert [*found] == [*in_file]
    for key in ("scenario", "revision", "round", "outcome", "time_cpu", "wakeups"):
        assert found[key].dropna().tolist() == in_file[key].dropna().tolist()
    assert found["started_at"].dt.year.min() >= 2020


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
