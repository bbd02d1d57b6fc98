"""The composite action and the examples: their shell steps are run as a runner would run them."""

import os
import re
import subprocess
import sys
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


def test_every_input_reaches_the_step_as_a_variable_and_none_as_text(tmp_path: Path) -> None:
    step = step_named("Compare")
    for script in (each["run"] for each in ACTION["runs"]["steps"] if "run" in each):
        assert "${{" not in script
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
    outputs = outputs_in(tmp_path)
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
        assert {"--repo", "--processes", "--budget", "--gate"} <= used_options
        assert [option for option in used_options if option not in help_text] == []


ALLOW, PUT_BACK = "Let the kernel count and sample", "Put the kernel's settings back"
FAKES = {
    "sudo": '[ -e "$STATE/no-sudo" ] && exit 1; shift; exec "$@"',
    "sysctl": """
        if [ "$1" = -n ]; then cat "$STATE/paranoid"; exit; fi
        [ ! -e "$STATE/refuses" ] && echo "${3#*=}" >"$STATE/paranoid"
    """,
    "mountpoint": '[ -e "$STATE/mounted" ]',
    "mount": '[ ! -e "$STATE/refuses" ] && touch "$STATE/mounted"',
    "umount": 'rm "$STATE/mounted"',
}
"""Programs that change the state of a machine that is a folder."""
TRACED = ("", "events", "events/raw_syscalls", "events/raw_syscalls/sys_enter")


class Machine:
    """A machine whose kernel has settings, and a runner's steps on it."""

    def __init__(self, folder: Path, paranoid: int = 2, *, mounted: bool = True) -> None:
        self.folder = folder
        self.state, self.tracing = folder / "state", folder / "tracing"
        programs = folder / "bin"
        programs.mkdir()
        for name, script in FAKES.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        self.state.mkdir()
        (self.state / "paranoid").write_text(f"{paranoid}\n")
        if mounted:
            (self.state / "mounted").touch()
        (self.tracing / TRACED[-1]).mkdir(parents=True)
        self.number.write_text("443")
        self.number.chmod(0o440)
        self.tracing.chmod(0o700)

    @property
    def number(self) -> Path:
        """The file that says what system calls are counted by."""
        return self.tracing / TRACED[-1] / "id"

    @property
    def is_open(self) -> bool:
        """Whether everyone can read that file."""
        ways = [(self.tracing / part).stat().st_mode & 0o5 == 0o5 for part in TRACED]
        return all(ways) and self.number.stat().st_mode & 0o4 == 0o4

    def settings(self) -> tuple[str, bool, list[int]]:
        paths = [*(self.tracing / part for part in TRACED), self.number]
        modes = [path.stat().st_mode for path in paths]
        paranoid = (self.state / "paranoid").read_text().strip()
        return paranoid, (self.state / "mounted").exists(), modes

    def refuse(self, what: str) -> None:
        (self.state / what).touch()

    def run(self, name: str) -> str:
        """Runs a step, which must not fail; what it says."""
        step = step_named(name)
        (self.folder / "output").touch()
        outputs = outputs_in(self.folder)
        environment = {
            variable: outputs.get(expression.split(".")[-1].removesuffix(" }}"), "")
            for variable, expression in step["env"].items()
        }
        environment |= {"TRACING": str(self.tracing), "STATE": str(self.state)}
        environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = run_script(step, self.folder, environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.parametrize("paranoid", [4, 2, 0])
@pytest.mark.parametrize("mounted", [True, False])
def test_the_kernel_may_count_for_the_job_and_is_put_back(
    mounted: bool, paranoid: int, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, paranoid, mounted=mounted)
    before = machine.settings()
    assert machine.run(ALLOW) == ""
    assert machine.settings()[:2] == ("-1", True)
    assert machine.is_open
    assert machine.run(PUT_BACK) == ""
    assert machine.settings() == before


def test_what_is_allowed_already_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, -1)
    machine.run(ALLOW)
    assert outputs_in(tmp_path).keys() == {"modes"}
    # Somebody else changed it since: it was not ours to put back.
    (machine.state / "paranoid").write_text("3")
    machine.run(PUT_BACK)
    assert machine.settings()[0] == "3"


def test_without_sudo_nothing_is_changed_and_a_notice_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.refuse("no-sudo")
    before = machine.settings()
    assert machine.run(ALLOW).startswith("::notice title=CPU cost::No sudo without a password")
    assert machine.run(PUT_BACK) == ""
    assert machine.settings() == before


def test_a_kernel_that_refuses_is_a_notice(tmp_path: Path) -> None:
    machine = Machine(tmp_path, mounted=False)
    machine.refuse("refuses")
    said = machine.run(ALLOW)
    assert "kernel.perf_event_paranoid stays 2" in said
    assert "cannot be mounted" in said
    assert "could not be put back to 2" in machine.run(PUT_BACK)


def test_what_is_put_back_is_put_back_after_a_failure_too() -> None:
    names = [step["name"] for step in ACTION["runs"]["steps"]]
    assert names.index(ALLOW) < names.index("Compare")
    assert (names[-1], step_named(PUT_BACK)["if"]) == (PUT_BACK, "always()")


@pytest.mark.parametrize("name", [ALLOW, "Compare", PUT_BACK])
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
