"""Gates of workers that cost more outside of the window that is judged, or elsewhere."""

from pathlib import Path

from tests.worker_gates import Behaviour, gates_of
from waitbench.analysis.verdicts import GateOutcome

GATES = 20
FEW = GATES // 5
"""One in ten may pass: more than twice as many do so by chance once in 25 times only."""


def test_workers_that_do_the_same_pass(tmp_path: Path) -> None:
    assert gates_of(tmp_path, Behaviour(), GATES)[GateOutcome.PASS] >= GATES - 1


def test_seconds_of_cpu_at_the_end_of_one_run_of_eight_do_not_pass(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(share=1 / 8, burns_at_its_end_s=3.0), GATES)
    assert found[GateOutcome.PASS] <= FEW, found


def test_two_seconds_of_lateness_in_one_run_of_five_do_not_pass(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(share=1 / 5, later_s=2.0), GATES)
    assert found[GateOutcome.PASS] <= FEW, found


def test_work_that_a_candidate_has_other_programs_do_fails(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(has_others_use_s=1.5), 5)
    assert [*found] == [GateOutcome.FAIL]
