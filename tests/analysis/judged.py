"""Records made by hand, and what is judged of them."""

import math
from collections.abc import Sequence

from tests.records import make_record, times
from waitbench.analysis import judging
from waitbench.analysis.criteria import Criterion, ask, parse
from waitbench.analysis.judging import Judgement
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record

(SYSTEM, ALONE, FLOOR, CPU, TOGETHER, WAKEUPS) = parse(
    ["system:10%", "system:10%,alone", "system:10%,20ms", "cpu:10%", "cpu:10%,together",
     "wakeups:5%"], METRICS
)  # fmt: skip


def judge(
    record: Record, *criteria: Criterion, hypotheses: int = 1, most_rounds: int = 10
) -> tuple[Judgement, ...]:
    asked = ask([record], criteria or (SYSTEM,))
    when = judging.schedule(hypotheses, most_rounds)
    return tuple(judging.judge(question, when) for question in asked)


def of_ratios(logs: Sequence[float]) -> Record:
    """Rounds in which CPU time, all of it system time, has these logarithms of its ratio."""
    candidate = [times(1, 0, math.exp(log)) for log in logs]
    return make_record({"a": [times(1, 0, 1)] * len(logs), "b": candidate})


def scattered(centre: float, count: int = 6, spread: float = 0.1) -> Record:
    """Ratios, half of them ``spread`` below and half above the centre, on logarithms."""
    return of_ratios([centre + (spread if number % 2 else -spread) for number in range(count)])
