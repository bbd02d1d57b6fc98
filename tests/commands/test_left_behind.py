"""Gates of a candidate that leaves work behind, which falls into the baseline's next run."""

import math
from typing import Any, cast

import numpy as np
import pytest

from tests.execution.made_runs import Made
from tests.records import context, measurement
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.verdicts import GateOutcome
from waitbench.engines.selection import select
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.run import PlannedRun, Result
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import GateGuide
from waitbench.pipeline.preparation import new_record

SCENARIOS = ("partitioned-long-input", "dynamic-long-input")
MEASURED = ("time_cpu", "time_cpu_steady", "machine_foreign_cpu")


def gate_of(*names: str, steady: float = 1.0, share: float = 1.0, left_s: float) -> GateVerdict:
    """A gate whose candidate costs more in a share of its runs, and leaves work behind in these."""
    random = np.random.default_rng(2)
    left = [0.0]

    def behave(planned: PlannedRun, _before: int) -> Result:
        cost = 0.06 * math.exp(random.normal(0, 0.05))
        foreign_s, left[0] = 0.02 + left[0], 0.0
        if planned.label == "new" and random.random() < share:
            cost *= steady
            left[0] = left_s
        metrics: dict[str, Any] = {
            "time_wall_clock": 1.2,
            "time_cpu": cost + 0.18 * math.exp(random.normal(0, 0.05)),
            "time_cpu_steady": cost,
            "machine_foreign_cpu": foreign_s,
        }
        return measurement(planned.label, planned.round, metrics, position=planned.position)

    chosen = select(names, (), quick=True)
    records = {one.name: new_record(one, context(("base", "new"))) for one in chosen}
    asked = tuple(one for one in DEFAULTS if one.metric.key in MEASURED)
    gate = Gate(criteria=asked, most_rounds=30)
    made = Made(behave)
    Session(cast(Measurer, made), records, made).carry_out_until(
        GateGuide(gate, records), gate.groups(chosen), ("base", "new"), 30, math.inf
    )
    return gate.conclude(records.values())


@pytest.mark.parametrize("share", [1.0, 0.25])
@pytest.mark.parametrize("names", [SCENARIOS, SCENARIOS[:1]])
def test_dear_runs_are_not_repeated_away_by_what_they_leave_behind(
    names: tuple[str, ...], share: float
) -> None:
    verdict = gate_of(*names, steady=15.0, share=share, left_s=1.0)
    assert verdict.outcome is GateOutcome.FAIL
    assert verdict.failures[0].by_dear_runs is (share < 1)


def test_what_is_left_behind_by_a_candidate_that_costs_the_same_fails_nothing() -> None:
    verdict = gate_of(*SCENARIOS, left_s=1.0)
    assert verdict.outcome is GateOutcome.INCONCLUSIVE
