"""Runs steps of the composite actions and the examples as a runner would run them."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.running import run
from waitbench.system.paths import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
RUNNER = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_ACTION_PATH": str(ROOT),
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_JOB": "cpu",
    "GITHUB_REF": "refs/pull/7/merge",
    "GITHUB_REPOSITORY": "somebody/something",
    "GITHUB_SHA": "0" * 40,
    "RUNNER_OS": "Linux",
    "RUNNER_ARCH": "X64",
}
"""What a runner sets, besides files."""


def step_named(name: str) -> dict[str, Any]:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    return dict(step)


def steps_of(path: Path) -> list[dict[str, Any]]:
    """The steps of a workflow for GitHub."""
    if path.name.startswith("gitlab"):
        return []
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


def ask(example: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the step of an example that reads a text of anybody."""
    steps = steps_of(ROOT / "examples" / f"github-{example}.yml")
    (step,) = [step for step in steps if step.get("id") == "asked"]
    return run_script(step, folder, variables)


def run_script(
    step: Mapping[str, Any], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs the script of a step as the runner would, in a folder."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    files = {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "RUNNER_TEMP": str(folder / "temp"),
    }
    return run(*command, cwd=folder, env={**RUNNER, **files, **environment})


def outputs_in(folder: Path) -> dict[str, str]:
    """What steps left for later ones; the last of a name counts."""
    path = folder / "output"
    text = path.read_text() if path.exists() else ""
    found: dict[str, str] = {}
    for one in re.finditer(r"^(\w+)(?:=(.*)|<<(.*)\n((?:.*\n)*?)\3)$", text, re.MULTILINE):
        found[one[1]] = one[2] if one[3] is None else one[4].removesuffix("\n")
    return found


def environment_of(
    step: Mapping[str, Any], folder: Path, inputs: Mapping[str, str]
) -> dict[str, str]:
    """The variables of a step: inputs, and what earlier steps have left."""
    values = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    found = {}
    for variable, expression in step.get("env", {}).items():
        inner = expression.removeprefix("${{ ").removesuffix(" }}")
        if inner == expression:
            found[variable] = expression
        elif inner.startswith("inputs."):
            found[variable] = values[inner.removeprefix("inputs.")]
        elif inner.startswith("steps."):
            found[variable] = outputs_in(folder).get(inner.rpartition(".")[2], "")
    return found
