"""What the files say of a comparison, its scenarios and their runs."""

import json
from typing import Any

import pytest
from hypothesis import given

from tests import records as made
from tests.store import strategies
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS
from waitbench.model.record import Context, Record
from waitbench.model.run import Result
from waitbench.model.scan import ScanPoint
from waitbench.store.formats import (
    FORMAT,
    format_of,
    plain_comparison,
    plain_run,
    plain_scenario,
    read_comparison,
    read_run,
    read_scenario,
)


def through_json(data: object) -> Any:
    return json.loads(json.dumps(data))


@given(strategies.contexts)
def test_a_context_survives_a_round_trip(context: Context) -> None:
    data = through_json(plain_comparison(context, {"rounds": 3}))
    assert read_comparison(data) == (context, {"rounds": 3})
    assert (data["format"], data["kind"]) == (FORMAT, "comparison")


@given(strategies.records())
def test_a_scenario_and_its_runs_survive_a_round_trip(record: Record) -> None:
    read = read_scenario(through_json(plain_scenario(record)), record.context)
    results: list[Result] = [*record.measurements, *record.outcomes]
    for run in results:
        read.add(read_run(through_json(plain_run(run, record.metrics))))
    assert read == record


def test_a_metric_that_the_scenario_does_not_declare_is_left_out() -> None:
    run = made.measurement("a", 1, {**made.times(1, 2, 3), "undeclared": 4})
    assert plain_run(run, METRICS)["metrics"] == made.times(1, 2, 3)


def test_the_format_is_ours() -> None:
    assert format_of({"format": FORMAT}) == 2


def test_a_later_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"format 3, .* up to 2\. Update waitbench"):
        format_of({"format": 3})


@pytest.mark.parametrize("named", ["2", 2.0, None, True, [2]])
def test_a_format_must_be_a_number(named: object) -> None:
    with pytest.raises(ValueError, match=r"Expected `int`, got `\w+` - at `\$\.format`"):
        format_of({"format": named})


@pytest.mark.parametrize("data", [{}, {"format": 1}, {"format": 0}, {"format": -1}])
def test_a_format_that_no_release_has_written_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="format"):
        format_of(data)


def test_a_scenario_of_a_scan_knows_its_place_and_its_topology() -> None:
    record = made.make_record({"a": [made.times(1, 1, 1)]}, topology="cluster, 4 processes")
    record.measurements = []
    record.scan = ScanPoint(scenario="idle", parameter="processes", value=4)
    data = through_json(plain_scenario(record))
    other = made.context(["a"], topology="single")
    assert read_scenario(data, other) == record
    assert "scan" not in plain_scenario(made.make_record({"a": []}))
