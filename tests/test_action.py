"""The composite action and the examples: their shell steps are run as a runner would run them."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Compare
from waitbench.system.places import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


def run_step(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the step "Compare" as the runner would, with a compare.sh that prints its arguments."""
    (tmp_path / "action").mkdir()
    fake = tmp_path / "action" / "compare.sh"
    fake.write_text('#!/bin/sh\nfor argument in "$@"; do printf "[%s]\\n" "$argument"; done\n')
    fake.chmod(0o755)
    return run_with(tmp_path, tmp_path / "action", **inputs)


def run_with(tmp_path: Path, action_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Compare"]
    values = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {"ACTION_PATH": str(action_path)}
    for variable, expression in step["env"].items():
        name = expression.removeprefix("${{ inputs.").removesuffix(" }}")
        if name in values:
            environment[variable] = values[name]
    environment |= {
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }
    environment |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_ACTIONS": "true"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_every_input_reaches_the_step_as_a_variable_and_none_as_text(tmp_path: Path) -> None:
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Compare"]
    assert "${{" not in step["run"]
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} <= set(step["env"].values())


def test_lines_become_arguments(tmp_path: Path) -> None:
    done = run_step(
        tmp_path, baseline="main", candidate="a\nb", scenarios="partitioned*\ndynamic",
        fail_on="system:5%\n", arguments="--strict", repository="some where",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split()
    assert printed[-4:] == ["[--]", "[main]", "[a]", "[b]"]
    assert "[some where]" in done.stdout
    assert done.stdout.count("[--scenario]") == 2
    assert "[--strict]" in printed
    assert "\nverdict=" in (tmp_path / "output").read_text()


def test_a_hostile_branch_name_stays_an_argument(tmp_path: Path) -> None:
    done = run_step(tmp_path, baseline="$(touch pwned)`touch pwned`; touch pwned #")
    assert done.returncode == 0
    assert "[$(touch pwned)`touch pwned`; touch pwned #]" in done.stdout
    assert not (tmp_path / "pwned").exists()


@pytest.mark.integration
def test_the_action_fails_for_a_regression_and_writes_the_summary_and_annotations(
    tmp_path: Path,
) -> None:
    arguments = "\n".join(
        ["--no-plot", "--max-rounds", "6", "--topology", "single", "--set", "items_per_partition=4"]
    )

    def judge(baseline: str, candidate: str) -> subprocess.CompletedProcess[str]:
        return run_with(
            tmp_path, ROOT, baseline=f"base={baseline}", candidate=f"new={candidate}",
            scenarios="partitioned-long-input", fail_on="cpu:20%", processes="1",
            repository=str(ROOT), arguments=arguments,
        )  # fmt: skip

    done = judge("v0.16.1", "v0.16.0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error title=cpu in partitioned-long-input::new" in done.stdout
    assert "### FAIL" in (tmp_path / "summary.md").read_text()
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert Path(outputs["verdict"]).is_file()
    assert "<failure" in (Path(outputs["results"]) / "junit.xml").read_text()
    # A second step of the same job has a folder of its own.
    reversal = judge("v0.16.0", "v0.16.1")
    assert reversal.returncode == 0, reversal.stdout + reversal.stderr
    assert Path(outputs["verdict"]).is_file()


@pytest.mark.parametrize("name", ["bytewax-cpu.github.yml", "bytewax-cpu.gitlab-ci.yml"])
def test_examples_are_valid_yaml_and_use_options_that_exist(
    name: str, run_compare: Compare
) -> None:
    text = (ROOT / "examples" / name).read_text()
    assert yaml.safe_load(text)
    if "github" in name:
        steps = yaml.safe_load(text)["jobs"]["cpu"]["steps"]
        (used,) = [step["with"] for step in steps if "baseline" in step.get("with", {})]
        assert set(used) <= set(ACTION["inputs"])
    else:
        lines = yaml.safe_load(text)["bytewax-cpu"]["script"]
        (script,) = [line for line in lines if line.startswith("bench/compare.sh")]
        help_text = run_compare("--help").stdout
        used_options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", script))
        assert {"--repo", "--processes", "--budget", "--fail-on"} <= used_options
        assert [option for option in used_options if option not in help_text] == []
