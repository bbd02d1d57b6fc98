"""What the doctor says of a machine."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from tests.conftest import Compare
from waitbench import engines
from waitbench.commands import doctor
from waitbench.commands.doctor import Finding
from waitbench.model.environment import Interpreter
from waitbench.system.instruments import Counter
from waitbench.system.places import Cache
from waitbench.system.watch import Reading


def test_this_very_machine_can_compare(run_compare: Compare) -> None:
    done = run_compare(command="doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for what in (
        "CPUs", "CPU accounting", "system calls", "stacks", "steal time",
        "frequency governor", "threads' CPU", "hyperfine", "Pythons for revisions",
        "compiler", "git", "repository", "package index",
    ):  # fmt: skip
        assert f" {what}: " in done.stdout


def test_a_lack_that_prevents_every_comparison_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacks = Finding(what="Pythons", here="none", costs="No environment can be made.")
    for is_needed, code in ((False, 0), (True, 3)):
        finding = Finding(**{**vars(lacks), "is_needed": is_needed})
        monkeypatch.setattr(doctor, "_findings", lambda _cache, f=finding: iter([f]))
        with pytest.raises(typer.Exit) as ended:
            doctor.doctor()
        assert ended.value.exit_code == code
        assert "✗ Pythons: none\n    No environment can be made." in capsys.readouterr().out


def no_steal() -> Reading:
    return Reading(100.0, 0.0, None)


@pytest.mark.parametrize(
    ("find", "attribute", "good", "bad", "says"),
    [
        (
            doctor._system_calls,
            "find_system_calls",
            lambda: Counter(tracepoint=1),
            lambda: Counter(tracepoint=None, reason="not mounted", remedy="sudo mount"),
            "sudo mount",
        ),
        (
            doctor._steal,
            "Reading",
            type("Quiet", (), {"now": staticmethod(no_steal)}),
            type("Loud", (), {"now": staticmethod(lambda: Reading(90.0, 10.0, None))}),
            "10.0%",
        ),
        (
            doctor._git,
            "shutil.which",
            lambda _name: "/usr/bin/git",
            lambda _name: None,
            "apt-get",
        ),
    ],
)
def test_a_lack_is_said_with_what_it_costs_and_what_mends_it(
    find: Callable[[], Finding],
    attribute: str,
    good: object,
    bad: object,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f"{find.__module__}.{attribute}", good)
    assert find().costs == ""
    monkeypatch.setattr(f"{find.__module__}.{attribute}", bad)
    found = find()
    assert found.costs
    assert says in f"{found.here} {found.remedy}"


def test_a_repository_that_answers_is_told_from_one_that_does_not(
    monkeypatch: pytest.MonkeyPatch, repository_folder: tuple[Path, dict[str, str]]
) -> None:
    variable = str(engines.DEFAULT.repository_variable)
    monkeypatch.setenv(variable, str(repository_folder[0]))
    assert doctor._repository().costs == ""
    monkeypatch.setenv(variable, "/nowhere")
    found = doctor._repository()
    assert found.here == "/nowhere does not answer"
    assert variable in found.remedy


def test_a_program_that_is_not_there_does_not_answer() -> None:
    assert doctor._answers("true")
    assert not doctor._answers("false")
    assert not doctor._answers("no-such-program")


def test_pythons_and_cpus_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pythons = (Interpreter("/a", "3.12.1"), Interpreter("/b", "3.10.2"))
    monkeypatch.setattr("waitbench.environments.interpreters.installed", lambda _cache: pythons)
    assert doctor._pythons(Cache(tmp_path)).here == "3.12, 3.10"
    monkeypatch.setattr("waitbench.environments.interpreters.installed", lambda _cache: ())
    assert doctor._pythons(Cache(tmp_path)).costs
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3})
    assert "take turns" in doctor._processors().costs


def test_a_hyperfine_that_can_be_set_up_is_no_lack_that_prevents_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("waitbench.execution.hyperfine.shutil.which", lambda _name: None)
    monkeypatch.setattr("waitbench.commands.doctor.shutil.which", lambda _name: "/usr/bin/apt-get")
    found = doctor._hyperfine(Cache(tmp_path))
    assert (found.is_needed, "sets it up" in found.costs) == (False, True)


@pytest.mark.long
def test_noise_is_the_smallest_rise_that_ten_rounds_find(run_compare: Compare) -> None:
    done = run_compare("--noise", command="doctor", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"10 rounds find a rise of steady CPU by \d+% here", done.stdout)
