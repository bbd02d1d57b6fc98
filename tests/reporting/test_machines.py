"""Where scenarios were measured, and what people read of several machines."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.test_machines import machine
from tests.records import make_record
from tests.reporting.printing import lines_of_table
from waitbench.analysis.machines import across
from waitbench.model.record import Record
from waitbench.reporting import machines
from waitbench.reporting.page_parts import source

SMALL = {"cpu": "Small", "cpus": 1, "fingerprint": "aaaa"}
LARGE = {"cpu": "Large", "cpus": 8, "fingerprint": "bbbb"}


def records() -> list[Record]:
    one, two = (make_record({"a": [], "b": []}, scenario=it, machine=SMALL) for it in ("x", "y"))
    return [one, replace(two, machine=LARGE)]


def test_where_each_scenario_was_measured_is_said_if_that_was_on_several_machines() -> None:
    one, two = records()
    assert machines.where_measured([one, two]) == (
        "Measured on 2 machines, no scenario on two of them: x on Small, 1 CPU (aaaa); y on Large, "
        "8 CPUs (bbbb)."
    )
    assert machines.where_measured([one]) is None


def test_a_machine_of_an_earlier_file_has_a_name_too() -> None:
    assert machines.name_of({}) == "unknown processor (unknown)"


def test_the_page_says_it_too() -> None:
    one, two = records()
    facts = dict(source(Path("results"), one.context, [one, two]).facts)
    assert facts["machines"] == machines.where_measured([one, two])
    assert "machines" not in dict(source(Path("results"), one.context, [one]).facts)


NEAR = (0.0, 0.01, -0.01, 0.005, -0.005)
FAR = tuple(0.5 + log for log in NEAR)
CALLED = {"A": "small (aaaa)", "B": "large (bbbb)"}


def test_a_table_has_each_machine_all_of_them_and_whether_they_disagree() -> None:
    found = across([[machine(NEAR)], [machine(FAR)]])
    (table,) = machines.tables(found, CALLED)
    assert lines_of_table(table) == [
        "new against the baseline, on each machine and on machines like these",
        "scenario                A                   B                   all  disagree",
        "one, cpu  × 1 (0.99–1.01)  × 1.65 (1.63–1.66)  × 1.28 (0.0536–30.8)       yes",
        "",
    ]


def test_the_machines_that_disagree_are_named_with_what_they_say() -> None:
    said = machines.sentences(across([[machine(NEAR)], [machine(FAR)]]), CALLED)
    assert said[:3] == [
        "A: small (aaaa).",
        "B: large (bbbb).",
        "one: the machines disagree on the CPU time of new: × 1 (0.99–1.01) on A, × 1.65 "
        "(1.63–1.66) on B.",
    ]
    assert "mean machine" in said[3]


def test_machines_that_agree_are_said_not_to_disagree_for_certain() -> None:
    said = machines.sentences(across([[machine(NEAR)], [machine(NEAR)]]), CALLED)
    assert said[2:] == ["The machines do not certainly disagree on the ratio."]


def test_one_machine_twice_is_said_to_be_one() -> None:
    found = across([[machine(NEAR)], [machine(NEAR)]])
    said = machines.sentences(found, {"A": "small (aaaa)", "B": "small (aaaa)"})
    assert "A and B: these are one machine" in said[2]


def test_plain_data_has_everything() -> None:
    found = across([[machine(NEAR)], [machine(FAR)]])
    data = json.loads(json.dumps(machines.plain(found, CALLED, {})))
    (ratio,) = data["ratios"]
    assert (ratio["disagree"], ratio["metric"], data["machines"]) == (True, "cpu", CALLED)
    assert ratio["by_machine"]["B"]["value"] == pytest.approx(1.6487, abs=1e-4)
    assert (ratio["pooled"]["count"], ratio["pooled"]["verdict"]) == (2, "inconclusive")
