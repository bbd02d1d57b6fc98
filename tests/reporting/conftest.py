"""Verdicts of comparisons made by hand."""

import pytest

from tests import gate_runs
from tests.gate_runs import Ratio, counted, working
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.gate import GateVerdict


@pytest.fixture
def failing() -> GateVerdict:
    return gate_runs.failing()


@pytest.fixture
def forgiven() -> GateVerdict:
    return gate_runs.forgiven()


@pytest.fixture
def unclear() -> GateVerdict:
    return gate_runs.unclear()


@pytest.fixture
def many() -> GateVerdict:
    """The defaults, of eight scenarios with long names."""
    names = ("partitioned-long-input", "dynamic-long-input")
    same: dict[str, Ratio] = {
        "wakeups": 1.0,
        "syscalls": 1.0,
        "steady": 1.02,
        "steady_system": [0.6, 2.6] * 10,
        "cpu": 1.0,
        "startup": 1.0,
        "shutdown": 1.0,
        "foreign_cpu": 1.0,
        "latency": 1.0,
        "latency_p50": 1.0,
        "rss": 1.0,
    }
    busy = [f"partitioned-long-input-heavy-map-{number}" for number in range(6)]
    records = [
        *(counted(name, **same) for name in names),
        *(working(counted(name, cpu=0.0625)) for name in busy),
    ]
    return gate.conclude(records, DEFAULTS, 20)


@pytest.fixture
def crashing() -> GateVerdict:
    return gate_runs.crashing()
