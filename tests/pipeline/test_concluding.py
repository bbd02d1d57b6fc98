"""The end of a comparison: what is written and printed, and in which order."""

from pathlib import Path

import pytest

from tests.gate_runs import record_of, rounds, scaled
from tests.records import make_record
from tests.reporting.test_page import gate
from tests.store.keeping import finish, keep
from waitbench.model.errors import ExitCode, HarnessError
from waitbench.model.verdicts import GateStatus
from waitbench.pipeline.concluding import conclude, findings_of
from waitbench.reporting import charts
from waitbench.reporting.output import Output
from waitbench.store import comparisons

BASE = rounds(1, 0.5)


def test_what_was_interrupted_before_its_last_scenario_does_not_pass(tmp_path: Path) -> None:
    passed = record_of(BASE, scaled(BASE))
    lacking = make_record({label: [] for label in passed.context.labels}, scenario="other")
    keep(tmp_path, passed, lacking, **gate("cpu:10%"))
    verdict = findings_of(comparisons.read(tmp_path)).verdict
    assert verdict is not None
    assert verdict.outcome is GateStatus.NOT_MEASURED


ERRORS = (HarnessError("costs.png cannot be written"), ValueError("no such font"))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("cpu", "code"), [(2.0, ExitCode.REGRESSION), (1.0, ExitCode.OK)])
def test_a_chart_that_cannot_be_drawn_hides_no_verdict(
    error: Exception,
    cpu: float,
    code: ExitCode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    finish(tmp_path, record_of(BASE, scaled(BASE, cpu, cpu)), **gate("cpu:10%"))

    def fail(*_: object, **__: object) -> None:
        assert (tmp_path / "verdict.json").exists(), "it is written first"
        raise error

    monkeypatch.setattr(charts, "draw_all", fail)
    assert conclude(comparisons.read(tmp_path), Output(), plot=True) is code
    printed = capsys.readouterr()
    assert ("FAIL" if code else "PASS") in printed.out
    assert f"Charts could not be drawn: {error}" in printed.err
