"""What the doctor says of a machine."""

import pytest
import typer

from tests.conftest import Compare
from waitbench.commands import doctor
from waitbench.commands.doctor import Requirement


def test_this_very_machine_can_compare(run_compare: Compare) -> None:
    done = run_compare(command="doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for what in (
        "CPU accounting", "wake-ups", "system calls", "frequency governor", "hyperfine",
        "compiler", "git",
    ):  # fmt: skip
        assert f" {what}: " in done.stdout


def test_a_lack_that_prevents_every_comparison_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_needed, code, mark in ((False, 0, "!"), (True, 3, "✗")):
        lacks = "No environment can be made."
        finding = Requirement("Pythons", "none", False, lacks, is_needed=is_needed)
        monkeypatch.setattr(doctor, "_requirements", lambda _cache, f=finding: iter([f]))
        with pytest.raises(typer.Exit) as ended:
            doctor.doctor()
        assert ended.value.exit_code == code
        assert f"{mark} Pythons: none\n    No environment can be made." in capsys.readouterr().out
