"""Runs steps of the composite action as a runner would run them."""

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from waitbench.system.places import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


def step_named(name: str) -> dict[str, Any]:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    return dict(step)


def run_script(
    step: dict[str, Any], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs the script of a step as the runner would."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command,
        env={**os.environ, "GITHUB_OUTPUT": str(folder / "output"), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def outputs_in(folder: Path) -> dict[str, str]:
    """What steps left for later ones; the last of a name counts."""
    lines = (folder / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)
