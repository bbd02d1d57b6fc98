"""Trials made by hand, for tests of what sums them up."""

from collections.abc import Sequence
from typing import Any

from benchmarks.trials import Trial
from waitbench.model.record import Record
from waitbench.store.formats import FORMAT


def judgement(**changes: Any) -> dict[str, Any]:
    """A verdict on wake-ups that says that nothing changed."""
    known = {
        "scenario": "waiting",
        "criterion": "wakeups:5%",
        "verdict": "within margin",
        "fails": False,
        "open": False,
        "ratio": 1.0,
        "rounds": 3,
    }
    return {**known, **changes}


FAILED = judgement(verdict="slower", fails=True, ratio=1.1, rounds=4)
OPEN = judgement(
    criterion="steady:10%,together", verdict="inconclusive", open=True, ratio=1.02, rounds=30
)


def verdict(*judgements: dict[str, Any], remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What verdict.json holds of these."""
    outcome = "inconclusive" if any(one["open"] for one in judgements) else "pass"
    outcome = "fail" if any(one["fails"] for one in judgements) else outcome
    return {
        "format": FORMAT,
        "kind": "verdict",
        "outcome": outcome,
        "reasons": [] if outcome == "pass" else [f"why it is {outcome}"],
        "headline": outcome.upper(),
        "judgements": list(judgements),
        "remarks": list(remarks),
    }


def trial(
    *judgements: dict[str, Any],
    wall_s: float = 10.0,
    records: Sequence[Record] = (),
    remarks: Sequence[str] = (),
) -> Trial:
    """A trial that ended so, and measured for half of its time."""
    return Trial(
        wall_s=wall_s,
        measuring_s=wall_s / 2,
        verdict=verdict(*judgements, remarks=remarks),
        records=records,
    )
