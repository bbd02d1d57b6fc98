"""Steps of setting something up: limits, logs, and what is said when one fails."""

import sys
from pathlib import Path

import pytest

from waitbench.model.errors import HarnessError
from waitbench.system.processes import run_logged

BUILD = """
import sys
print("   Compiling thiserror v1.0")
print("error: toolchain '1.86.0' is not installed")
for n in range(60):
    print("   note", n)
print("     0: anyhow::error::From<E>::from")
print("error: subprocess-exited-with-error")
print("  Preparing metadata (pyproject.toml): finished with status 'error'")
print("  × Encountered error while generating package metadata.")
print("ERROR: Failed building wheel for bytewax")
sys.exit(1)
"""


def fail(program: str, log: Path, time_limit_s: float = 60) -> str:
    command = [sys.executable, "-c", program]
    with pytest.raises(HarnessError) as raised:
        run_logged(command, log, time_limit_s=time_limit_s, hint=lambda _log: "\nHint: this")
    return str(raised.value)


def test_the_first_complaints_are_said_and_not_the_trailer(tmp_path: Path) -> None:
    said = fail(BUILD, tmp_path / "log")
    # An outcome keeps the first line only.
    assert "toolchain '1.86.0' is not installed" in said.splitlines()[0]
    for trailer in ("subprocess-exited", "anyhow", "finished with status", "package metadata"):
        assert trailer not in said
    assert "Failed building" not in said
    assert str(tmp_path / "log") in said
    assert said.endswith("\nHint: this")


def test_what_earlier_steps_complained_of_is_not_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("error: of yesterday\n")
    assert "yesterday" not in fail(BUILD, tmp_path / "log")


def test_without_a_complaint_the_end_of_the_log_is_said(tmp_path: Path) -> None:
    said = fail("print('all is well'); raise SystemExit(4)", tmp_path / "log")
    assert "failed (exit 4)" in said
    assert "all is well" in said


def test_a_step_that_does_not_end_is_killed_and_the_option_is_named(tmp_path: Path) -> None:
    said = fail("import time; time.sleep(600)", tmp_path / "log", time_limit_s=0.5)
    assert "still running after 0.5 s" in said
    assert "--setup-limit" in said


def test_a_step_that_succeeds_is_logged(tmp_path: Path) -> None:
    run_logged([sys.executable, "-c", "print('done')"], tmp_path / "log")
    assert (tmp_path / "log").read_text() == "done\n"
