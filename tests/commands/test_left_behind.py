"""Gates of a candidate that leaves work behind, which falls into the baseline's next run."""

from pathlib import Path

import pytest

from tests.worker_gates import Behaviour, gates_of
from waitbench.analysis.verdicts import GateOutcome


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_dear_runs_are_not_repeated_away_by_what_they_leave_behind(
    share: float, tmp_path: Path
) -> None:
    found = gates_of(tmp_path, Behaviour(share=share, burns_at_its_end_s=3.0, leaves_s=1.5), 5)
    assert GateOutcome.PASS not in found
    assert GateOutcome.FAIL in found


def test_what_is_left_behind_by_a_candidate_that_costs_the_same_fails_nothing(
    tmp_path: Path,
) -> None:
    found = gates_of(tmp_path, Behaviour(leaves_s=1.5), 3)
    assert [*found] == [GateOutcome.INCONCLUSIVE]
