"""What is set up once for all: used by two at once, or damaged since."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.faults.clones import QUICK, Clone, rounds_in

pytestmark = pytest.mark.integration

COMMON = (*QUICK, "--rounds", "1", "--no-plot")


def test_two_comparisons_that_need_the_same_environment_make_it_once(
    shared_clone: Clone, tmp_path: Path
) -> None:
    wheel = shared_clone.wheel("shared", "do 'shared'")
    started = [
        shared_clone.start(f"A={wheel}", *COMMON, "--results", tmp_path / name) for name in "12"
    ]
    said = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert sum("installing" in stdout for stdout, _ in said) == 1
    assert [rounds_in(tmp_path / name) for name in "12"] == [{"A": [1]}] * 2


def empty_facts(environment: Path) -> None:
    (environment / "environment.json").write_text("")


def half_installed(environment: Path) -> None:
    (environment / "environment.json").unlink()
    shutil.rmtree(environment / "bin")


def without_its_package(environment: Path) -> None:
    for package in environment.glob("lib/*/site-packages/standin"):
        shutil.rmtree(package)


def edited(environment: Path) -> None:
    for module in environment.glob("lib/*/site-packages/standin/run.py"):
        module.write_text("raise SystemExit(9)")


def without_its_interpreter(environment: Path) -> None:
    for link in environment.glob("bin/python*"):
        link.unlink()
        link.symlink_to("/no/such/python")


DAMAGES = (empty_facts, half_installed, without_its_package, edited, without_its_interpreter)


def test_a_damaged_environment_is_made_again(shared_clone: Clone, tmp_path: Path) -> None:
    damages = {damage.__name__: damage for damage in DAMAGES}
    wheels = [shared_clone.wheel(name, f"do {name!r}", name) for name in damages]
    for results in ("first", "second"):
        done = shared_clone.run(*wheels, *COMMON, "--results", tmp_path / results)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [name for name in damages if f"{name}: installing" not in done.stdout] == []
        for name, environment in environments_of(damages, shared_clone).items():
            damages[name](environment)


def environments_of(names: Iterable[str], clone: Clone) -> dict[str, Path]:
    """Those of wheels that have their names in them."""
    modules = list(clone.cache.glob("environments/*/lib/*/site-packages/standin/run.py"))
    return {
        name: module.parents[4]
        for name in names
        for module in modules
        if repr(f"do {name!r}") in module.read_text()
    }
