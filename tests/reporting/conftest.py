"""Verdicts of comparisons made by hand."""

import pytest

from tests.gate_runs import Ratio, counted, noisy, record_of, rounds, scaled, verdict_of, working
from tests.records import make_record, outcome, times
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict


@pytest.fixture
def failing() -> GateVerdict:
    base = rounds(1, 0.5)
    record = record_of(base, scaled(base, system=1.5))
    return verdict_of(record, criteria=["system:10%", "cpu:50%"])


@pytest.fixture
def forgiven() -> GateVerdict:
    record = counted("waiting", wakeups=12.3, steady=0.06)
    return verdict_of(record, criteria=["wakeups:5%", "steady:10%"])


@pytest.fixture
def unclear() -> GateVerdict:
    record = record_of(rounds(1, 0.5, 5), noisy(5))
    return verdict_of(record, criteria=["system:10%"], most_rounds=5)


@pytest.fixture
def many() -> GateVerdict:
    """The defaults, of eight scenarios with long names."""
    names = ("partitioned-long-input", "dynamic-long-input")
    same: dict[str, Ratio] = {
        "wakeups": 1.0,
        "syscalls": 1.0,
        "steady": 1.02,
        "steady_system": [0.7, 1.5] * 5,
        "cpu": 1.0,
        "startup": 1.0,
        "latency": 1.0,
        "latency_p50": 1.0,
        "rss": 1.0,
    }
    busy = [f"partitioned-long-input-heavy-map-{number}" for number in range(6)]
    records = [
        *(counted(name, **same) for name in names),
        *(working(counted(name, cpu=0.0625)) for name in busy),
    ]
    return gate.conclude(records, DEFAULTS, 10)


@pytest.fixture
def crashing() -> GateVerdict:
    record = make_record({"base": [times(1, 1, 1)] * 3, "new": []})
    for number in range(3):
        record.add(outcome("new", number, "failed", message="exit code 1"))
    return verdict_of(record, criteria=["cpu:10%", "system:10%"])
