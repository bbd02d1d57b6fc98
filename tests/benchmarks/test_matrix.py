"""Cells of the matrix: which hold, and what is said of them."""

from typing import Any

import pytest

from benchmarks.matrix import FAILS, HANGS, HOLDS, Cell, line, word
from tests.execution.made_runs import scenario
from tests.records import measurement, outcome
from waitbench.model.run import FAILED, LOST_ITEMS, TIMED_OUT, UNBALANCED, Measurement
from waitbench.model.scenario import Topology

PARTS = ("startup", "steady", "shutdown", "helpers", "launcher")
CELL = Cell(scenario("scoring-blocking"), Topology("launcher", 2, 2), "v0.16.2")


def run(*parts: float, total: float = 3.0, **more: Any) -> Measurement:
    metrics = {f"time_cpu_{name}": value for name, value in zip(PARTS, parts, strict=True)}
    return measurement("v0.16.2", 1, {"time_cpu": total, **metrics}, **more)


def test_a_cell_holds_whose_parts_add_up_to_the_total() -> None:
    good = run(0.25, 1.0, 0.5, 1.0, 0.25, marks=("disturbed",))
    assert word(CELL, good) == HOLDS
    assert line(CELL, good) == (
        "holds  scoring-blocking, launcher, 2 processes × 2 workers, v0.16.2: complete; off by "
        "0.00% of 3.00 s; smallest launcher, 250.0 ms; helpers 1000 ms; disturbed"
    )


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (run(0.25, 1.0, -0.75, 1.0, 1.5), "smallest shutdown, -750.0 ms"),
        (run(0.25, 1.0, 0.5, 1.0, 0.25, total=3.1), "off by 3.23% of 3.10 s"),
        (run(0.25, 1.0, 0.5, 1.0, 0.25, total=2.9), "off by 3.45% of 2.90 s"),
        (run(0.25, 1.0, 0.5, 1.0, 0.25, marks=(UNBALANCED,)), "; unbalanced"),
        (measurement("v0.16.2", 1, {"time_cpu": 3.0}), "no worker reported"),
        (outcome("v0.16.2", 1, LOST_ITEMS), LOST_ITEMS),
        (outcome("v0.16.2", 1, TIMED_OUT), TIMED_OUT),
    ],
)
def test_a_cell_fails_otherwise(odd: Any, said: str) -> None:
    assert word(CELL, odd) == FAILS
    assert line(CELL, odd).startswith("FAILS  scoring-blocking") and said in line(CELL, odd)


@pytest.mark.parametrize(
    ("name", "topology", "label", "reason", "expected"),
    [
        ("partitioned", Topology("launcher", 2, 2), "v0.16.2", TIMED_OUT, HANGS),
        ("partitioned", Topology("cluster", 2, 2), "v0.16.0", TIMED_OUT, HANGS),
        ("partitioned", Topology("cluster", 2, 2), "v0.16.2", FAILED, FAILS),
        ("partitioned", Topology("cluster", 2, 2), "v0.21.1", TIMED_OUT, FAILS),
        ("partitioned", Topology("cluster", 2, 1), "v0.16.2", TIMED_OUT, FAILS),
        ("dynamic", Topology("cluster", 2, 2), "v0.16.2", TIMED_OUT, FAILS),
    ],
)
def test_only_where_that_release_is_known_to_hang_it_may(
    name: str, topology: Topology, label: str, reason: str, expected: str
) -> None:
    assert word(Cell(scenario(name), topology, label), outcome(label, 1, reason)) == expected
