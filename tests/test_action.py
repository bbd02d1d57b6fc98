"""The composite action and the examples: their shell steps are run as a runner would run them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.actions import ACTION, outputs_in, run_script, step_named
from tests.conftest import Compare
from tests.faults import clones
from waitbench.system.places import ROOT


def run_step(tmp_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the step "Compare" as the runner would, with a compare.sh that prints its arguments."""
    (tmp_path / "action").mkdir()
    fake = tmp_path / "action" / "compare.sh"
    fake.write_text('#!/bin/sh\nfor argument in "$@"; do printf "[%s]\\n" "$argument"; done\n')
    fake.chmod(0o755)
    return run_with(tmp_path, tmp_path / "action", **inputs)


def run_with(tmp_path: Path, action_path: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    values = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {"ACTION_PATH": str(action_path)}
    for variable, expression in step_named("Compare")["env"].items():
        name = expression.removeprefix("${{ inputs.").removesuffix(" }}")
        if name in values:
            environment[variable] = values[name]
    environment |= {
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_ACTIONS": "true",
    }
    return run_script(step_named("Compare"), tmp_path, environment)


def test_every_input_reaches_the_step_as_a_variable_and_none_as_text(tmp_path: Path) -> None:
    step = step_named("Compare")
    for script in (each["run"] for each in ACTION["runs"]["steps"] if "run" in each):
        assert "${{" not in script
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} <= set(step["env"].values())


def test_lines_become_arguments(tmp_path: Path) -> None:
    done = run_step(
        tmp_path, baseline="main", candidate="a\nb", scenarios="partitioned*\ndynamic",
        fail_on="system:5%\n", arguments="--full", repository="some where",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split()
    assert printed[-4:] == ["[--]", "[main]", "[a]", "[b]"]
    assert "[some where]" in done.stdout
    assert done.stdout.count("[--scenario]") == 2
    assert "[--full]" in printed
    assert "[--gate]" not in printed
    assert "\nverdict=" in (tmp_path / "output").read_text()


def test_a_hostile_branch_name_stays_an_argument(tmp_path: Path) -> None:
    done = run_step(tmp_path, baseline="$(touch pwned)`touch pwned`; touch pwned #")
    assert done.returncode == 0
    assert "[$(touch pwned)`touch pwned`; touch pwned #]" in done.stdout
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("criteria", ["", "\n"])
def test_without_criteria_the_gate_has_its_own(criteria: str, tmp_path: Path) -> None:
    done = run_step(tmp_path, baseline="main", fail_on=criteria)
    assert done.stdout.split().count("[--gate]") == 1
    assert "[--fail-on]" not in done.stdout


@pytest.mark.integration
def test_the_action_fails_for_a_regression_and_writes_the_summary_and_annotations(
    tmp_path: Path,
) -> None:
    # A clone, whose rounds count whatever else the machine does.
    clone = clones.make(tmp_path / "clone")
    quick, slow = clone.wheel("quick"), clone.wheel("slow", "burn 0.3")

    def judge(baseline: str, candidate: str) -> subprocess.CompletedProcess[str]:
        return run_with(
            tmp_path, clone.root, baseline=f"base={baseline}", candidate=f"new={candidate}",
            scenarios="dynamic", fail_on="cpu:20%", processes="1",
            arguments="--no-plot\n--max-rounds\n6",
        )  # fmt: skip

    done = judge(quick, slow)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error title=cpu in dynamic::new" in done.stdout
    assert "### FAIL" in (tmp_path / "summary.md").read_text()
    outputs = outputs_in(tmp_path)
    assert Path(outputs["verdict"]).is_file()
    assert "<failure" in (Path(outputs["results"]) / "junit.xml").read_text()
    # A second step of the same job has a folder of its own.
    reversal = judge(slow, quick)
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
        assert {"--repo", "--processes", "--budget", "--gate"} <= used_options
        assert [option for option in used_options if option not in help_text] == []


@pytest.mark.parametrize(
    ("name", "command"),
    [("bytewax-bisect.github.yml", "bisect"), ("bytewax-nightly.github.yml", "track")],
)
def test_a_workflow_uses_options_that_exist_and_pastes_nothing_into_a_script(
    name: str, command: str, run_compare: Compare
) -> None:
    (job,) = yaml.safe_load((ROOT / "examples" / name).read_text())["jobs"].values()
    scripts = [step["run"] for step in job["steps"] if "run" in step]
    (script,) = [one for one in scripts if f"waitbench {command}" in one]
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", script))
    assert {"--repo", "--results", "--budget"} <= used
    help_text = run_compare("--help", command=command).stdout
    assert [option for option in used if option not in help_text] == []
    assert not any("${{" in one for one in scripts)


def test_the_matrix_measures_every_share_and_merges_them(run_compare: Compare) -> None:
    text = (ROOT / "examples" / "bytewax-cpu-matrix.github.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    scripts = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()
    }
    assert not any("${{" in one for of_job in scripts.values() for one in of_job)
    numbers = jobs["share"]["strategy"]["matrix"]["shard"]
    assert numbers == list(range(1, len(numbers) + 1))
    (measured,) = [one for one in scripts["share"] if "compare.sh" in one]
    assert f'--shard "$SHARD/{len(numbers)}"' in measured
    (merged,) = [one for one in scripts["verdict"] if "waitbench merge" in one]
    for script, command in ((measured, "compare"), (merged, "merge")):
        help_text = run_compare("--help", command=command).stdout
        used = re.findall(r"(?<![\w-])--[a-z][a-z-]+", script)
        assert [option for option in used if option not in help_text] == []


@pytest.mark.parametrize(
    "name", [step["name"] for step in ACTION["runs"]["steps"] if "run" in step]
)
def test_the_scripts_of_the_steps_are_sound(name: str) -> None:
    done = subprocess.run(
        # Below a warning it takes the variables of the step for misspelt ones of its own.
        [
            Path(sys.executable).with_name("shellcheck"),
            *("--shell", "bash", "--severity", "warning", "-"),
        ],
        input=step_named(name)["run"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("measured", [True, False])
def test_a_page_is_made_of_whatever_was_measured(tmp_path: Path, measured: bool) -> None:
    results = tmp_path / "results"
    results.mkdir()
    if measured:
        shutil.copytree(ROOT / "docs" / "samples" / "waiting", results, dirs_exist_ok=True)
    environment = {"ACTION_PATH": str(ROOT), "RESULTS": str(results)}
    done = run_script(step_named("Make a page of them"), tmp_path, environment)
    assert done.returncode == 0, done.stderr
    assert (results / "page.html").exists() is measured
