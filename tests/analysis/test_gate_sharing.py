"""Comparisons that share one error."""

from tests.gate_runs import record_of, rounds, scaled
from waitbench.analysis import gate
from waitbench.analysis.criteria import parse
from waitbench.model.metrics import METRICS


def test_they_have_as_many_questions_as_all_of_them() -> None:
    record = record_of(rounds(1, 1), scaled(rounds(1, 1), user=1.3))
    criteria = parse(["cpu:10%"], METRICS)
    alone, shared = (gate.conclude([record], criteria, 10, sharing=number) for number in (1, 4))
    assert (alone.hypotheses, shared.hypotheses) == (1, 4)
    (one,), (other,) = alone.judgements, shared.judgements
    assert one.low is not None
    assert other.low is not None
    assert other.low < one.low
    assert other.high == one.high
