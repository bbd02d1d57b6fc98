"""The package: its wheel, and waitbench where it is installed and no clone is near."""

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent

import pytest
from packaging.requirements import Requirement

from tests import running, standin
from waitbench.execution import hyperfine
from waitbench.system import installation
from waitbench.system.paths import DATAFLOWS, PACKAGE, ROOT, WORKERS, Cache

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
Installed = Callable[..., "subprocess.CompletedProcess[str]"]


def build(folder: Path) -> Path:
    """Builds the wheel of this clone. Skips where the index cannot be reached."""
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", ROOT)
    done = running.run(*command, "--wheel-dir", folder, env={"SOURCE_DATE_EPOCH": "1600000000"})
    if re.search(r"Max retries|NewConnectionError|ConnectTimeout", done.stderr):
        pytest.skip("the index cannot be reached")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in an environment that has this wheel, and the libraries of these tests."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True)
    # The libraries as they are, instead of half a minute's installation; without a clone's links.
    (ours,) = {path for path in map(Path, sys.path) if path.name == "site-packages"}
    (packages / "libraries.pth").write_text(f"import sys; sys.path.append({str(ours)!r})\n")
    return folder / "bin" / "waitbench"


@pytest.fixture
def run(program: Path, tmp_path: Path) -> Installed:
    """Runs a program in an empty folder, with a home of its own."""
    empty = tmp_path / "empty"
    empty.mkdir()
    tools = Path(hyperfine.locate(Cache(), lambda _what: None).path).parent

    def run(*arguments: object, **variables: str) -> "subprocess.CompletedProcess[str]":
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "BENCH", "XDG"))}
        return subprocess.run(
            [str(one) for one in arguments], cwd=empty, capture_output=True, text=True, check=False,
            timeout=300,
            env={
                **kept, "HOME": str(tmp_path / "home"), "COLUMNS": "80",
                "PATH": f"{program.parent}:{tools}:{os.environ['PATH']}", **variables,
            },
        )  # fmt: skip

    return run


def names_below(*folders: Path) -> set[str]:
    """Files that are kept in git, relative to the clone."""
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = running.run(*listing, *folders, cwd=ROOT)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


@pytest.mark.integration
def test_the_wheel_has_whatever_a_clone_finds(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("src/") for name in names_below(PACKAGE)}
    assert package <= inside
    bundled = names_below(DATAFLOWS, WORKERS) | {"requirements.txt"}
    assert {f"waitbench/bundled/{name}" for name in bundled} <= inside
    rest = {name for name in inside - package if not name.startswith("waitbench/bundled/")}
    assert all(".dist-info/" in name for name in rest)


@pytest.mark.integration
def test_an_installed_waitbench_is_the_same_as_its_clone_by_another_name(run: Installed) -> None:
    done = run("waitbench", "--version")
    assert (done.returncode, done.stdout) == (0, f"waitbench {installation.version()}\n")
    module = run("python", "-m", "waitbench", "--version")
    assert module.stdout == done.stdout
    shown = run("waitbench", "compare", "--help").stdout
    assert "\n    waitbench compare v0.16.0 v0.16.1\n" in shown
    assert "./" not in shown.replace("after=./bytewax", "")


@pytest.mark.integration
@pytest.mark.parametrize("home", [False, True])
def test_an_installed_waitbench_compares_from_anywhere(
    home: bool, run: Installed, tmp_path: Path
) -> None:
    script = f"""
        import sys
        sys.path.append({str(ROOT)!r})
        from tests.standin import StandIn
        from waitbench import engines
        from waitbench.system import machine
        engines.DEFAULT = StandIn()
        machine.OTHER_CORES = float("inf")
        from waitbench.__main__ import start
        sys.exit(start())
    """
    (tmp_path / "program.py").write_text(dedent(script))
    revisions = [standin.revision(tmp_path / one, label=one) for one in ("base", "new")]
    variables = {"BENCH_HOME": str(tmp_path / "own")} if home else {}
    comparing = ("python", tmp_path / "program.py", "compare", *revisions)
    done = run(*comparing, "-s", "dynamic", "--rounds", "2", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "base → new" in done.stdout
    data, cache = tmp_path / "home/.local/share/waitbench", tmp_path / "home/.cache/waitbench"
    if home:
        assert not data.exists()
        assert not cache.exists()
        data, cache = tmp_path / "own", tmp_path / "own" / "cache"
    assert (cache / "environments").is_dir()
    assert list((tmp_path / "empty").iterdir()) == []
    read = "import waitbench; print(waitbench.read().outcome.tolist())"
    assert run("python", "-c", read, **variables).stdout == "['ok', 'ok', 'ok', 'ok']\n"


@pytest.mark.integration
def test_the_pytest_of_an_environment_has_the_fixture(run: Installed, tmp_path: Path) -> None:
    test = tmp_path / "empty" / "test_it.py"
    test.write_text("import os\ndef test_idle(waitbench): waitbench.check(os.getpid(), idle='1%')")
    done = run("python", "-m", "pytest", "-p", "no:cacheprovider", test)
    assert done.returncode == 1
    assert "is waitbench itself" in done.stdout


def chosen(name: str = "requirements.in") -> list[Requirement]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r "))]


def pins(requirements: Iterable[Requirement]) -> set[tuple[str, str]]:
    return {(one.name.lower(), str(one.specifier)) for one in requirements}


def locked(name: str) -> set[tuple[str, str]]:
    """What a lock pins, without its hashes."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return pins(Requirement(line.rstrip(" \\")) for line in lines if re.match(r"\w", line))


def test_what_the_wheel_needs_is_what_a_clone_locks() -> None:
    needed = {one.name: one for one in map(Requirement, PROJECT["dependencies"])}
    assert set(needed) == {one.name for one in chosen()}
    for one in chosen():
        (pin,) = one.specifier
        assert needed[one.name].specifier.contains(pin.version), one


def test_the_change_log_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(installation.VERSION)}( |$)", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_a_lock_pins_what_is_chosen_and_both_agree(name: str) -> None:
    """Hashes are asked for on installation: tests/test_setup.py."""
    assert pins(chosen(f"{name}.in")) <= locked(f"{name}.txt") <= locked("requirements-dev.txt")
