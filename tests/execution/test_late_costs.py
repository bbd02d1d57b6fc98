"""Gates of workers that cost something only when nobody looks: after the window, or between two."""

from pathlib import Path

import pytest

from tests.worker_gates import Behaviour, gates_of
from waitbench.analysis.verdicts import GateOutcome


def test_a_spin_within_the_window_fails(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(spins_after_s=1.0))
    assert [*found] == [GateOutcome.FAIL]


@pytest.mark.xfail(strict=True, reason="nothing looks after the first message")
def test_a_spin_that_begins_with_the_first_message_fails(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(spins_once_poked=True))
    assert [*found] == [GateOutcome.FAIL]


@pytest.mark.xfail(strict=True, reason="the gate looks until 3.2 s after the start only")
def test_a_spin_that_begins_four_seconds_after_the_start_fails(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(spins_after_s=4.0))
    assert [*found] == [GateOutcome.FAIL]


@pytest.mark.xfail(strict=True, reason="the gate's window of 2 s lies between two bursts")
def test_half_a_second_of_cpu_each_five_seconds_fails(tmp_path: Path) -> None:
    found = gates_of(tmp_path, Behaviour(burns_each_s=5.0, burns_s=0.5))
    assert [*found] == [GateOutcome.FAIL]
