"""Result files and hyperfine's export."""

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import make_record, times
from waitbench.analysis import statistics
from waitbench.execution.hyperfine import Timing, parse_export
from waitbench.execution.measure import Outcome
from waitbench.model.errors import HarnessError, UsageError
from waitbench.reporting import charts
from waitbench.reporting.charts import bars
from waitbench.store import results

EXPORT_1 = """{"results": [{"command": "x", "mean": 0.5, "stddev": null, "median": 0.5, "user": 0.25, "system": 0.125,
 "min": 0.5, "max": 0.5, "times": [0.5], "memory_usage_byte": [1048576], "exit_codes": [3]}]}"""
EXPORT_2 = """{"schema_version": 2, "metadata": {"hyperfine_version": "2.0.0"}, "primary_metric": "time_wall_clock",
 "results": [{"command": "x", "measurements": [{"time_wall_clock": {"value": 0.5, "unit": "second"}, "time_cpu": {"value": 0.375,
 "unit": "second"}, "time_user": {"value": 0.25, "unit": "second"}, "time_system": {"value": 0.125, "unit": "second"},
 "memory_peak_resident": {"value": 1048576.0, "unit": "byte"}, "exit_code": 3}], "summary": {}}]}"""


@pytest.mark.parametrize("export", [EXPORT_1, EXPORT_2])
def test_both_lines_of_hyperfine_are_read_alike(export: str) -> None:
    assert parse_export(export) == Timing(0.5, 0.25, 0.125, 1048576.0, 3)


def test_hyperfine_before_1_19_has_no_memory() -> None:
    assert parse_export(EXPORT_1.replace('"memory_usage_byte": [1048576], ', "")).rss_bytes is None


@pytest.mark.parametrize("export", ["", "{}", "[]", '{"results": []}', EXPORT_1.replace("[0.5]", "[0.5, 0.5]")])
def test_an_unreadable_export_is_an_error(export: str) -> None:
    with pytest.raises(HarnessError, match="cannot be read"):
        parse_export(export)


def test_records_survive_a_round_trip(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25)], "b": [times(2, 1, 0.5)]})
    record.add(Outcome("b", 2, 0, "2026", "timed-out", "killed", "log"))
    results.write(record, tmp_path)
    (read,) = results.read_all(tmp_path)
    assert read == record


def test_a_revision_without_a_measurement_is_in_outcomes_only(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25)], "b": []})
    record.add(Outcome("b", 1, 0, "2026", "failed", "exit 7", "log"))
    results.write(record, tmp_path)
    data = json.loads((tmp_path / "partitioned.json").read_text())
    assert [result["command"] for result in data["results"]] == ["a"]
    assert data["outcomes"][0]["reason"] == "failed"


def test_the_table_has_a_row_for_every_run(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25)] * 2, "b": [times(2, 1, 0.5)]})
    record.add(Outcome("b", 2, 0, "2026", "lost-items", "", ""))
    results.write_csv([record], tmp_path)
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["outcome"] for row in rows].count("ok") == 3
    assert [row["time_system"] for row in rows if row["outcome"] == "lost-items"] == [""]


def test_a_full_disk_leaves_the_file_before_it_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25)]})
    results.write(record, tmp_path)
    before = (tmp_path / "partitioned.json").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("waitbench.store.results.os.fsync", full)
    record.add(make_record({"a": [times(9, 9, 9)]}).measurements[0])
    with pytest.raises(HarnessError, match="No space left on device"):
        results.write(record, tmp_path)
    assert (tmp_path / "partitioned.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["partitioned.json"]


@pytest.mark.parametrize("text", ["", "garbage", "{}", "[1]", '{"results": [], "metadata": {}}', "\x00\xff"])
def test_files_that_are_not_ours_are_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "partitioned.json").write_text(text)
    with pytest.raises(UsageError, match=r"partitioned\.json.*is not a result file"):
        results.read_all(tmp_path)


def test_charts_are_written_for_each_scenario_and_over_all_in_both_formats(tmp_path: Path) -> None:
    many = {f"r{n}": [times(1 + n, 0.5, 0.001), times(1.1 + n, 0.6, 0)] for n in range(9)}
    comparisons = [statistics.compare(make_record(many)), statistics.compare(make_record({"a": [times(1, 1, 1)], "b": []}))]
    comparisons[1] = statistics.Comparison("other", "single", True, False, comparisons[1].rows)
    files = charts.draw_all(comparisons, {}, tmp_path, ["png", "svg"])
    assert sorted(p.name for p in files) == [
        f"{name}.{form}" for name in ("other", "overview", "partitioned") for form in ("png", "svg")
    ]
    assert all(path.stat().st_size > 1000 for path in files)
    assert "MIXED ORIGINS" in (tmp_path / "other.svg").read_text()


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    comparison = statistics.compare(make_record({"a": [times(1, 1, 1)] * 2, "b": [times(2, 1, 1)] * 2}))
    (first,) = charts.draw_all([comparison], {}, tmp_path, ["svg"])
    before = first.read_bytes()
    charts.draw_all([comparison], {}, tmp_path, ["svg"])
    assert first.read_bytes() == before


def test_a_revision_keeps_its_colour_where_another_has_no_run(tmp_path: Path) -> None:
    full = bars.draw(statistics.compare(make_record({"a": [times(1, 1, 1)], "b": [times(1, 1, 1)]})))
    without = bars.draw(statistics.compare(make_record({"a": [], "b": [times(1, 1, 1)]})))
    colours = [figure.axes[0].patches[-1].get_facecolor() for figure in (full, without)]
    assert colours[0] == colours[1]


def test_the_keys_of_hyperfine_1_are_beside_those_of_2(tmp_path: Path) -> None:
    record = make_record({"a": [times(1, 0.5, 0.25), times(3, 0.7, 0.35)], "b": [times(2, 1, 0.5)]})
    results.write(record, tmp_path)
    data = json.loads((tmp_path / "partitioned.json").read_text())
    first, second = data["results"]
    assert data["schema_version"] == 2
    assert (first["mean"], first["median"], first["min"], first["max"], first["times"]) == (2, 2, 1, 3, [1, 3])
    assert (first["user"], first["system"], first["exit_codes"]) == (pytest.approx(0.6), pytest.approx(0.3), [0, 0])
    assert (first["stddev"], second["stddev"]) == (pytest.approx(2**0.5), None)
    assert [result["parameters"] for result in data["results"]] == [{"revision_number": "0"}, {"revision_number": "1"}]
    assert first["summary"]["time_wall_clock"]["mean"] == 2
    assert first["measurements"][0]["time_user"] == {"value": 0.5, "unit": "second"}
