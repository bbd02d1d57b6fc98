"""CSV files, as pandas reads them."""

import csv
from pathlib import Path

import pytest

from tests.records import make_record, measurement, outcome, times
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import Record
from waitbench.store import csv_files


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / csv_files.RUNS_NAME).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_there_is_a_row_for_every_run_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25)] * 2, "b": [times(2, 1, 0.5)]})
    record.add(outcome("b", 2, "lost-items"))
    csv_files.write_runs(tmp_path, [record])
    assert [
        (row["revision"], row["round"], row["outcome"], row["time_system"])
        for row in rows(tmp_path)
    ] == [
        ("a", "1", "ok", "0.25"),
        ("b", "1", "ok", "0.5"),
        ("a", "2", "ok", "0.25"),
        ("b", "2", "lost-items", ""),
    ]


def test_columns_are_the_metrics_of_any_scenario_those_of_all_first(tmp_path: Path) -> None:
    own = Metric("own", "own_metric", "byte", "a family's own")
    plain, special = make_record({"a": []}), make_record({"a": []}, scenario="special")
    special.metrics = (*METRICS, own)
    special.add(measurement("a", 1, {**times(1, 1, 1), own.key: 7, "undeclared": 8}))
    csv_files.write_runs(tmp_path, [special, plain])
    (row,) = rows(tmp_path)
    assert list(row) == [
        "scenario", "revision", "round", "position", "started_at", "outcome", "marks",
        *(metric.key for metric in METRICS), "own_metric",
    ]  # fmt: skip
    assert row["own_metric"] == "7"


def with_samples(label: str) -> Record:
    record = make_record({label: []})
    samples = ({"taken_s": 0.123456789012, "lines": 123456789.0}, {"taken_s": 0.25})
    record.add(measurement(label, 1, times(1, 1, 1), samples=samples))
    record.add(measurement(label, 2, times(1, 1, 1)))
    return record


@pytest.mark.parametrize("label", ["a", 'the "best", of\nall', "ветка 🦆", "=1+1"])
def test_samples_are_read_to_nine_digits_whatever_the_label(label: str, tmp_path: Path) -> None:
    csv_files.write_samples(tmp_path, with_samples(label))
    read = make_record({label: [times(1, 1, 1)] * 2})
    csv_files.add_samples(tmp_path, read)
    assert [run.samples for run in read.measurements] == [
        ({"taken_s": 0.123456789, "lines": 123456789.0}, {"taken_s": 0.25}),
        (),
    ]


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "revision,round,taken_s\na,x,1\n", "revision,round,t\na,1,x\n",
             "revision,round,t\na,1,2,3\n", "revision,round,t\na\n"],
)  # fmt: skip
def test_a_file_that_does_not_hold_samples_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "waiting.samples.csv").write_text(text)
    with pytest.raises(UsageError, match=r"waiting\.samples\.csv' is not a result file"):
        csv_files.add_samples(tmp_path, make_record({"a": [times(1, 1, 1)]}))
