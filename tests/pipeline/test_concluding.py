"""The end of a comparison: what is written and printed, and in which order."""

from pathlib import Path

import pytest

from tests.gate_runs import record_of, rounds, scaled
from tests.reporting.test_page import gate
from tests.store.keeping import finish
from waitbench.model.errors import ExitCode, HarnessError
from waitbench.pipeline.concluding import conclude
from waitbench.reporting import charts
from waitbench.reporting.output import Output
from waitbench.store import comparisons

BASE = rounds(1, 0.5)
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
