"""What becomes of a run whose reports hold what no run can have used."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.execution.told import launched, worker
from waitbench.execution import plan
from waitbench.execution.bench import Bench
from waitbench.execution.hyperfine import Hyperfine
from waitbench.execution.launch_report import REPORT, REPORTS
from waitbench.execution.measure import Measurer
from waitbench.model.run import FAILED, Measurement, Outcome, Result
from waitbench.model.scenario import Scenario, Topology


class _Reported(Measurer):
    """Runs whose reports are there already."""

    def _time(self, _ready: object) -> float:
        return 5.7


def measured(folder: Path, report: str) -> Result:
    """What comes of a run of one worker with this report."""
    (folder / REPORTS).mkdir()
    (folder / REPORT).write_text(json.dumps(launched()))
    (folder / REPORTS / "1.json").write_text(report)
    services = SimpleNamespace(cpu_s=lambda: 0.0, last_words=lambda: "", ended=lambda: "")

    @contextmanager
    def prepare(*_of: object) -> Iterator[Any]:
        yield SimpleNamespace(folder=folder, services=services)

    bench = SimpleNamespace(
        topology=Topology("single"), prepare=prepare, what_is_missing=lambda *_of: None
    )
    measurer = _Reported(cast(Hyperfine, None), cast(Bench, bench))
    return measurer.measure(plan.one_round(Scenario(name="one", purpose=""), ["a"], 1)[0])


def test_a_run_is_measured_by_its_reports(tmp_path: Path) -> None:
    assert isinstance(measured(tmp_path, json.dumps(worker(1))), Measurement)


@pytest.mark.parametrize(
    "report",
    [
        json.dumps(worker(1, lateness_ns=[[float("nan"), 5]])),
        json.dumps(worker(1, lateness_ns=[[float("inf"), 5]])),
        json.dumps(worker(1, polls=float("nan"))),
        json.dumps(worker(1, polls="many")),
        json.dumps(worker(1, lateness_ns=[[10**400, 5]])),
        json.dumps(worker(1, lateness_max_ns=10**400)),
        "[" * 100_000,
    ],
    ids=["nan", "infinite", "nan-count", "text", "huge", "huge-most", "deep"],
)
def test_what_is_no_number_is_a_failed_run_and_no_cost(tmp_path: Path, report: str) -> None:
    """It would be on no side of what is allowed, and files could not hold it."""
    found = measured(tmp_path, report)
    assert isinstance(found, Outcome)
    assert found.reason == FAILED
    assert "report cannot be read" in found.message
