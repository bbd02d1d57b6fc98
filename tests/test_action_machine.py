"""The composite action's steps that change settings of the kernel, and put them back."""

import os
from pathlib import Path

import pytest

from tests.actions import ACTION, environment_of, outputs_in, run_script, step_named

ALLOW, PUT_BACK = "Let the kernel count", "Put the kernel's settings back"
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
        environment = environment_of(step, self.folder, {})
        environment |= {"TRACING": str(self.tracing), "STATE": str(self.state)}
        environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = run_script(step, self.folder, environment)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.parametrize(("at_first", "was_mounted"), [(4, True), (2, False), (0, True)])
def test_the_kernel_may_count_for_the_job_and_is_put_back(
    at_first: int, was_mounted: bool, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, at_first, mounted=was_mounted)
    before = machine.settings()
    assert machine.run(ALLOW) == ""
    paranoid, mounted, modes = machine.settings()
    assert (paranoid, mounted) == ("-1", True)
    # Everyone can read what calls are counted by.
    assert all(mode & 0o5 == 0o5 for mode in modes[:-1])
    assert modes[-1] & 0o4
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


def test_without_sudo_nothing_is_changed_and_that_or_a_kernel_that_refuses_is_a_notice(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, mounted=False)
    machine.refuse("no-sudo")
    before = machine.settings()
    assert machine.run(ALLOW).startswith("::notice title=waitbench::No sudo without a password")
    assert machine.run(PUT_BACK) == ""
    assert machine.settings() == before
    (machine.state / "no-sudo").unlink()
    machine.refuse("refuses")
    said = machine.run(ALLOW)
    assert "kernel.perf_event_paranoid stays 2" in said
    assert "cannot be mounted" in said
    assert "could not be put back to 2" in machine.run(PUT_BACK)


def test_what_is_put_back_is_put_back_after_a_failure_too() -> None:
    names = [step["name"] for step in ACTION["runs"]["steps"]]
    assert names.index(ALLOW) < names.index("Compare")
    assert (names[-1], step_named(PUT_BACK)["if"]) == (
        PUT_BACK,
        "always() && inputs.sudo == 'true'",
    )
