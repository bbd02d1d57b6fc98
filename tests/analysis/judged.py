"""Records made by hand, and what is judged of them."""

import math
from collections.abc import Sequence

from tests.records import make_record, times
from waitbench.analysis import judging
from waitbench.analysis.criteria import Criterion
from waitbench.analysis.judging import Judgement, ask
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.pipeline.criteria import parse

(SYSTEM, ALONE, FLOOR, CPU, WAKEUPS) = parse(
    ["system:10%", "system:10%,alone", "system:10%,20ms", "cpu:10%", "wakeups:5%"], METRICS
)


def judge(*records: Record, criteria: Sequence[Criterion] = (SYSTEM,)) -> tuple[Judgement, ...]:
    asked = ask(records, criteria)
    return tuple(judging.judge(question, asked) for question in asked)


def of_ratios(logs: Sequence[float]) -> Record:
    """Rounds in which CPU time, all of it system time, has these logarithms of its ratio."""
    candidate = [times(1, 0, math.exp(log)) for log in logs]
    return make_record({"a": [times(1, 0, 1)] * len(logs), "b": candidate})
