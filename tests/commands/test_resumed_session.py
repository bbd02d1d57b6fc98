"""A gate that is resumed on a slower machine, through the real session, guide and judging."""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from tests.execution.made_runs import Made
from tests.records import AT, context
from waitbench.analysis import criteria
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.verdicts import GateOutcome
from waitbench.engines.selection import select
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.metrics import Instruments
from waitbench.model.record import Record
from waitbench.model.run import FAILED, WARM_UP, Measurement, Outcome, PlannedRun, Result
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import GateGuide
from waitbench.pipeline.preparation import new_record
from waitbench.pipeline.resuming import go_on

DAYS = (AT, "2026-01-02T00:00:00+00:00")
SLOWER = 1.6
"""What everything takes on the second day, as a multiple of the first."""


MEASURED = ("time_cpu", "time_cpu_steady", "wakeups")


def run_of(day: int, failing: float, rng: np.random.Generator) -> Callable[[PlannedRun], Result]:
    """What comes of a run: revision b fails in a share of them, else it is as a."""

    def behave(planned: PlannedRun) -> Result:
        place: dict[str, Any] = {
            "label": planned.label, "round": planned.round, "position": planned.position,
            "started_at": DAYS[day],
        }  # fmt: skip
        if planned.label == "b" and planned.round != WARM_UP and rng.random() < failing:
            return Outcome(**place, reason=FAILED, message="boom")
        startup, steady = 0.18 * math.exp(rng.normal(0, 0.05)), 0.06 * math.exp(rng.normal(0, 0.05))
        factor = SLOWER**day
        metrics = {
            "time_wall_clock": 1.2 * factor,
            "time_cpu": (startup + steady) * factor,
            "time_cpu_steady": steady * factor,
            "wakeups": 880 * (1 + rng.normal(0, 0.01)),
            "machine_foreign_cpu": 0.0,
            "machine_steal": 0.0,
        }
        return Measurement(**place, metrics=metrics)

    return behave


def compare(
    behave: Callable[[PlannedRun], Result], most_rounds: int, earlier: Mapping[str, Record]
) -> tuple[GateVerdict, dict[str, Record]]:
    """One session of the default gate, resumed where there are records of an earlier one."""
    chosen = select(("partitioned-long-input", "dynamic-long-input"), (), quick=True)
    records = {one.name: new_record(one, context(("a", "b"))) for one in chosen}
    for name, record in earlier.items():
        go_on(records[name], replace(record, outcomes_before=0))
    asked = tuple(one for one in criteria.DEFAULTS if one.metric.key in MEASURED)
    gate = Gate(criteria=asked, most_rounds=most_rounds).supported_by(Instruments(), ())
    made = Made(lambda planned, _before: behave(planned))
    session = Session(cast(Measurer, made), records, made)
    guide = GateGuide(gate, records)
    session.carry_out_until(guide, gate.groups(chosen), ("a", "b"), most_rounds, math.inf)
    return gate.conclude(records.values()), records


def test_a_resume_on_a_slower_day_pairs_no_round_over_two_days_and_fails_nothing() -> None:
    rng = np.random.default_rng(4)
    set_aside = 0
    for _ in range(15):
        _, before = compare(run_of(0, 0.3, rng), 6, {})
        verdict, records = compare(run_of(1, 0.0, rng), 30, before)
        for record in records.values():
            days = {run.round: set[str]() for run in record.measurements}
            for run in record.measurements:
                days[run.round].add(run.started_at)
            assert all(len(one) == 1 for one in days.values()), "a round of two days"
            assert all(record.is_whole(number) for number in days)
            assert sorted(days) == list(range(1, len(days) + 1)), "repeated by its number"
            set_aside += sum(one.reason == "repeated" for one in record.outcomes)
        assert not verdict.failures
        # What failed on the first day was repeated, and says nothing of the comparison any more.
        assert not verdict.failed_runs
        assert verdict.outcome in (GateOutcome.PASS, GateOutcome.INCONCLUSIVE)
    assert set_aside > 15
