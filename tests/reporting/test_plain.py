"""Comparisons as plain data."""

import json

from tests.records import disturb, make_record, outcome, times
from waitbench.analysis import statistics
from waitbench.model.metrics import Metric
from waitbench.reporting.plain import plain


def test_plain_data_hold_what_is_known_of_a_scenario() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 3, "b": [times(2, 2, 2)] * 3}, mixed_origins=True)
    record.launcher_cpu_s["b"] = 0.5
    record.add(outcome("b", 4, "failed"))
    disturb(record, 2)
    (data,) = json.loads(json.dumps(plain([statistics.compare(record)])))
    assert data.keys() == {
        "scenario", "topology", "mixed_origins", "baseline", "rounds", "disturbed_rounds",
        "revisions", "sentences",
    }  # fmt: skip
    assert (data["scenario"], data["topology"], data["baseline"]) == ("waiting", "single", "a")
    assert data["mixed_origins"] is True
    assert (data["rounds"], data["disturbed_rounds"]) == (3, 2)
    first, second = data["revisions"]
    assert first["metrics"]["cpu"] == {
        "value": 2, "low": 2, "high": 2, "count": 3, "unit": "second",
    }  # fmt: skip
    assert first["ratios"] == {}
    ratio = second["ratios"]["system"]
    assert (round(ratio["value"], 9), ratio["count"], ratio["verdict"]) == (2, 3, "slower")
    assert ratio.keys() == {"value", "low", "high", "count", "verdict"}
    assert (second["failures"], second["marks"]) == (
        {"failed": 1}, {"disturbed": 2},
    )  # fmt: skip
    assert (second["launcher_cpu_s"], second["identical_to"]) == (0.5, None)
    assert data["sentences"][0].startswith("b against a: ")


def test_metrics_of_a_family_have_their_units_too() -> None:
    record = make_record({"a": [{"calls": 4.0}]})
    record.metrics = (Metric("calls", "calls", "byte", "calls"),)
    (data,) = plain([statistics.compare(record)])
    assert data["revisions"][0]["metrics"]["calls"]["unit"] == "byte"
