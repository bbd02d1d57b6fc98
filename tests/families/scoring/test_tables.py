"""Tables of calls to a model: what is in each cell."""

from collections.abc import Sequence

import pytest

from tests.families.scoring.records import asked, calls
from tests.records import measurement
from waitbench.families import scoring
from waitbench.families.scoring.tables import tables
from waitbench.model.record import Record
from waitbench.reporting.document import Cell


def rows_of(records: Sequence[Record], ending: str) -> dict[Cell, tuple[Cell, ...]]:
    (table,) = (table for table in tables(records) if ending in table.title)
    return {row[0]: row[1:] for row in table.rows}


def test_times_are_described_as_published() -> None:
    records = [asked("blocking", calls(*range(1, 102))), asked("inprocess", calls(5.5))]
    assert rows_of(records, "time taken by a call, ms (limit 10 ms)") == {
        "mean": ("51.000", "5.500"),
        "min": ("1.000", "5.500"),
        "25%": ("26.000", "5.500"),
        "50%": ("51.000", "5.500"),
        "75%": ("76.000", "5.500"),
        "90%": ("91.000", "5.500"),
        "99%": ("100.000", "5.500"),
        "max": ("101.000", "5.500"),
    }


def test_lines_are_held_against_a_blocking_pipes_here_and_as_published() -> None:
    records = [
        asked("blocking", calls(1, 1, lines=2000)),
        asked("inprocess", calls(1, lines=500)),
        asked("nonblocking-park", [*calls(1, lines=0), *calls(1, lines=3000)]),
    ]
    rows = rows_of(records, "lines per call")
    assert rows["mean"] == ("2,000", "500", "1,500")
    assert rows["mean / blocking"] == ("1.000", "0.250", "0.750")
    assert rows["… as published"] == ("1", "0.232", "–")
    assert tables(records)[1].notes == ("Calls without a line: nonblocking-park: 1.",)


def test_without_a_blocking_pipe_nothing_is_relative() -> None:
    assert "mean / blocking" not in rows_of([asked("inprocess", calls(1))], "lines per call")


def test_cpu_is_the_mean_of_the_runs_that_have_it() -> None:
    record = asked("blocking", calls(1), call_user=0.002, call_model_system=0.5)
    record.add(measurement("a", 2, {"call_user": 0.004}))
    assert rows_of([record], "CPU time of a call, ms") == {
        "worker, user": ("3.000",),
        "worker, system": ("0.000",),
        "model, user": ("0.000",),
        "model, system": ("500.000",),
    }


def test_a_revision_without_calls_has_no_table() -> None:
    titles = [table.title for table in tables([asked("blocking", calls(1))])]
    assert len(titles) == 3
    assert all(title.startswith("scoring · a · ") for title in titles)


def test_metrics_of_a_run_are_those_of_its_calls() -> None:
    samples = [
        {"taken_s": taken / 100, "lines": 10.0 * taken, "user_s": 0.5, "system_s": 0.25}
        for taken in range(1, 102)
    ]
    found = scoring.FAMILY.metrics_of(samples, {"model_user_s": 202.0})
    assert found == pytest.approx(
        {
            "lines_per_call": 510.0,
            "call_time_p99": 1.0,
            "call_time_max": 1.01,
            "call_user": 0.5,
            "call_system": 0.25,
            "call_model_user": 2.0,
            "call_model_system": 0.0,
        }
    )
    assert set(found) == {metric.key for metric in scoring.METRICS}
    assert scoring.FAMILY.metrics_of([], {}) == {}


def test_a_sample_that_is_not_of_a_call_is_none() -> None:
    odd = {"lines": 3.0, "other": 1.0}
    rows = rows_of([asked("blocking", [*calls(2), odd])], "time taken by a call")
    assert rows["max"] == ("2.000",)
    assert tables([asked("blocking", [odd])]) == []
