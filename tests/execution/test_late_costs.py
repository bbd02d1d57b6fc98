"""Gates of workers that cost something only when nobody looks: after the window, or between two."""

from pathlib import Path

import pytest

from tests.worker_gates import Behaviour, gates_of
from waitbench.analysis.verdicts import GateOutcome


def missed(why: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=why)


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(spins_after_s=1.0),
        pytest.param(Behaviour(spins_once_poked=True), marks=missed("nobody looks after a poke")),
        pytest.param(Behaviour(spins_after_s=4.0), marks=missed("nobody looks after 3.2 s")),
        pytest.param(
            Behaviour(burns_each_s=5.0, burns_s=0.5), marks=missed("the window of 2 s lies between")
        ),
    ],
)
def test_a_core_that_is_burnt_fails(behaviour: Behaviour, tmp_path: Path) -> None:
    assert [*gates_of(tmp_path, behaviour)] == [GateOutcome.FAIL]
