"""Results for notebooks."""

from pathlib import Path

import pandas as pd
import pytest

import waitbench
from tests.records import measurement, times
from tests.store.keeping import finish, recorded
from waitbench.system.places import ROOT

SAMPLE = ROOT / "docs" / "samples" / "waiting"


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
