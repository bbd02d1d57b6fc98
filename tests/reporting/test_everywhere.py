"""What people read of several machines."""

import json

import pytest

from tests.analysis.test_machines import machine
from tests.reporting.printing import lines_of
from waitbench.analysis import machines
from waitbench.reporting import everywhere

NEAR = (0.0, 0.01, -0.01, 0.005, -0.005)
FAR = tuple(0.5 + log for log in NEAR)
CALLED = {"A": "small (aaaa)", "B": "large (bbbb)"}


def test_a_table_has_each_machine_all_of_them_and_whether_they_disagree() -> None:
    found = machines.across([[machine(NEAR)], [machine(FAR)]])
    (table,) = everywhere.tables(found, CALLED)
    assert lines_of(table.print_to) == [
        "new against the baseline, on each machine and on machines like these",
        "scenario                A                   B                   all  disagree",
        "one, cpu  × 1 (0.99–1.01)  × 1.65 (1.63–1.66)  × 1.28 (0.0536–30.8)       yes",
        "",
    ]


def test_the_machines_that_disagree_are_named_with_what_they_say() -> None:
    said = everywhere.sentences(machines.across([[machine(NEAR)], [machine(FAR)]]), CALLED)
    assert said[:3] == [
        "A: small (aaaa).",
        "B: large (bbbb).",
        "one: the machines disagree on the CPU time of new: × 1 (0.99–1.01) on A, × 1.65 "
        "(1.63–1.66) on B.",
    ]
    assert "mean machine" in said[3]


def test_machines_that_agree_are_said_not_to_disagree_for_certain() -> None:
    said = everywhere.sentences(machines.across([[machine(NEAR)], [machine(NEAR)]]), CALLED)
    assert said[2:] == ["The machines do not certainly disagree on the ratio."]


def test_one_machine_twice_is_said_to_be_one() -> None:
    found = machines.across([[machine(NEAR)], [machine(NEAR)]])
    said = everywhere.sentences(found, {"A": "small (aaaa)", "B": "small (aaaa)"})
    assert "A and B: these are one machine" in said[2]


def test_plain_data_has_everything() -> None:
    found = machines.across([[machine(NEAR)], [machine(FAR)]])
    data = json.loads(json.dumps(everywhere.plain(found, CALLED, {})))
    (ratio,) = data["ratios"]
    assert (ratio["disagree"], ratio["metric"], data["machines"]) == (True, "cpu", CALLED)
    assert ratio["by_machine"]["B"]["value"] == pytest.approx(1.6487, abs=1e-4)
    assert (ratio["pooled"]["count"], ratio["pooled"]["verdict"]) == (2, "inconclusive")
