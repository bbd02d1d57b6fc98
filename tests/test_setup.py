"""Setting up: a virtualenv of waitbench's own, whatever Python there is."""

import subprocess
import sys
from pathlib import Path

import pytest

from waitbench.system.places import ROOT


def make_venv(tmp_path: Path, refused: str) -> subprocess.CompletedProcess[str]:
    """Runs setup.sh's function with a Python that refuses to run some modules."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$2" in {refused}) exit 1 ;; esac\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    functions = (ROOT / "src" / "setup.sh").read_text().rpartition("\nbench_setup ")[0]
    script = f'{functions}\nset -euo pipefail\nBENCH_PROGRAM=test bench_make_venv "$1" "$2"'
    command = ["bash", "-c", script, "bash", str(python), str(tmp_path / "venv")]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize("refused", ["nothing", "venv"])
def test_a_python_without_venv_gets_its_environment_through_virtualenv(
    refused: str, tmp_path: Path
) -> None:
    done = make_venv(tmp_path, refused)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv" / "bin" / "python").exists()


def test_a_python_with_neither_is_told_what_to_install(tmp_path: Path) -> None:
    done = make_venv(tmp_path, "venv|virtualenv|pip")
    assert done.returncode == 3
    assert "apt install python3-venv" in done.stderr
