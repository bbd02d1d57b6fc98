"""Gates of workers that cost something rarely, elsewhere, when nobody looks, or in a later run."""

from pathlib import Path

import pytest

from tests.worker_gates import REQUESTS, SERVICE, SERVICE_CORES, Behaviour, gates_of
from waitbench.model.verdicts import GateStatus


@pytest.mark.parametrize(
    "behaviour", [Behaviour(spins_after_s=1.0), Behaviour(has_others_use_s=1.5)]
)
def test_a_core_that_is_burnt_by_itself_or_by_others_for_it_fails(
    behaviour: Behaviour, tmp_path: Path
) -> None:
    assert [*gates_of(tmp_path, behaviour, 3)] == [GateStatus.FAIL]


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (Behaviour(has_service_use=4 * SERVICE_CORES), GateStatus.FAIL),
        (Behaviour(requests=3 * REQUESTS), GateStatus.FAIL),
        (Behaviour(), GateStatus.PASS),
    ],
    ids=["cpu", "requests", "twin"],
)
def test_a_service_that_works_more_for_a_worker_that_costs_the_same_fails_its_gate(
    behaviour: Behaviour, outcome: GateStatus, tmp_path: Path
) -> None:
    assert [*gates_of(tmp_path, behaviour, 5, phases=SERVICE)] == [outcome]


def test_memory_that_grows_while_a_worker_waits_fails_its_gate(tmp_path: Path) -> None:
    assert [*gates_of(tmp_path, Behaviour(grows_by=2 * 2**20), 3)] == [GateStatus.FAIL]


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_outliers_are_not_repeated_away_by_what_they_leave_behind(
    share: float, tmp_path: Path
) -> None:
    result = gates_of(tmp_path, Behaviour(share=share, burns_at_its_end_s=3.0, leaves_s=1.5), 5)
    assert GateStatus.PASS not in result
    assert GateStatus.FAIL in result


def test_what_is_left_behind_by_a_candidate_that_costs_the_same_fails_nothing(
    tmp_path: Path,
) -> None:
    result = gates_of(tmp_path, Behaviour(leaves_s=1.5), 3)
    assert [*result] == [GateStatus.INCONCLUSIVE]


GATES = 20
FEW = GATES // 5
"""One in ten may pass: more than twice as many do so by chance once in 25 times only."""


@pytest.mark.parametrize(
    ("behaviour", "least", "most"),
    [
        (Behaviour(), GATES - 1, GATES),
        (Behaviour(share=1 / 8, burns_at_its_end_s=3.0), 0, FEW),
        (Behaviour(share=1 / 5, later_s=2.0), 0, FEW),
    ],
)
def test_a_worker_that_does_the_same_passes_and_one_that_rarely_costs_more_does_not(
    behaviour: Behaviour, least: int, most: int, tmp_path: Path
) -> None:
    result = gates_of(tmp_path, behaviour, GATES)
    assert least <= result[GateStatus.PASS] <= most, result
