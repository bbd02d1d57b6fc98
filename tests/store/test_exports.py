"""The files as hyperfine's own tools see them. Its scripts: test_hyperfine_scripts.py."""

from tests.records import make_record, outcome, times
from tests.store.test_formats import through_json
from waitbench.store.exports import plain_export, read_export


def test_the_keys_of_hyperfine_1_stand_beside_those_of_2() -> None:
    record = make_record({"a": [times(1, 0.5, 0.25), times(3, 0.75, 0.5)], "b": [times(2, 1, 0.5)]})
    data = plain_export(record)
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


def test_the_metadata_describes_the_scenario_and_its_metrics_but_not_the_comparison() -> None:
    metadata = plain_export(make_record({"a": [times(1, 1, 1)]}))["metadata"]
    assert list(metadata) == [
        "hyperfine_version", "start_time", "platform",
        "format", "scenario", "family", "waits", "works", "parameters", "metrics",
    ]  # fmt: skip
    assert metadata["metrics"][0] == {
        "name": "real", "key": "time_wall_clock", "unit": "second", "title": "real time",
        "explains": None,
    }  # fmt: skip


def test_fields_of_a_later_version_are_ignored() -> None:
    record = make_record({"a": [times(1, 1, 1)]})
    record.add(outcome("a", 2, "failed"))
    data = through_json(plain_export(record))
    result = data["results"][0]
    for thing in (
        data, data["metadata"], data["metadata"]["metrics"][0], data["outcomes"][0], result,
        result["measurements"][0],
    ):  # fmt: skip
        thing["of_a_later_version"] = ["x"]
        thing["too"] = {"x": "y"}
    assert read_export(data, record.context) == record
