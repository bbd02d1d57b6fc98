"""Setting up: a virtualenv of waitbench's own, whatever Python there is."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import standin
from tests.running import run, write_strange_modules
from waitbench.system.paths import ROOT


@pytest.mark.parametrize("system", ["darwin23", "msys", "freebsd14.0"])
def test_elsewhere_than_on_linux_a_sentence_names_the_document(system: str) -> None:
    done = run(ROOT / "compare.sh", "--help", env={"OSTYPE": system})
    text = "./compare.sh needs Linux. docs/containers.md has ways on macOS and Windows.\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", text)


def make_venv(tmp_path: Path, refused: str) -> subprocess.CompletedProcess[str]:
    """Runs setup.sh's function with a Python that refuses to run some modules."""
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$2" in {refused}) exit 1 ;; esac\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    functions = (ROOT / "src" / "setup.sh").read_text().rpartition("\nbench_setup ")[0]
    script = f'{functions}\nset -euo pipefail\nBENCH_PROGRAM=test bench_make_venv "$1" "$2"'
    ran, strange = write_strange_modules(tmp_path / "strange"), tmp_path / "strange"
    bare = ("env", "-i", "PATH=/usr/bin:/bin", f"PYTHONPATH={strange}", "bash")
    done = run(*bare, "-c", script, "bash", python, tmp_path / "venv", cwd=strange)
    assert not ran.exists(), ran.read_text()
    return done


@pytest.mark.parametrize(
    ("refused", "code"), [("nothing", 0), ("venv", 0), ("venv|virtualenv|pip", 3)]
)
def test_a_python_without_venv_gets_its_environment_through_virtualenv_or_is_told_what_to_install(
    refused: str, code: int, tmp_path: Path
) -> None:
    done = make_venv(tmp_path, refused)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "venv" / "bin" / "python").exists() is (code == 0)
    assert ("apt install python3-venv" in done.stderr) is (code == 3)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, quick_python: Path) -> Path:
    """A project with a virtualenv in which nothing is installed yet."""
    root = tmp_path_factory.mktemp("project")
    (root / "python").symlink_to(quick_python)
    (root / "src").mkdir()
    (root / "src" / "setup.sh").write_text((ROOT / "src" / "setup.sh").read_text())
    venv = [sys.executable, "-m", "virtualenv", "--quiet", str(root / ".bench" / "venv")]
    subprocess.run(venv, check=True)
    return root


def set_up(project: Path, requirement: str, before: str = ":") -> subprocess.CompletedProcess[str]:
    """Sets a project up that needs one thing; the caller's PYTHONPATH has another pip."""
    process = start_set_up(project, requirement, before)
    stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def start_set_up(project: Path, requirement: str, before: str = ":") -> "subprocess.Popen[str]":
    (project / "requirements.txt").write_text(f"{requirement}\n")
    strange = project / "strange" / "pip"
    strange.mkdir(parents=True, exist_ok=True)
    (strange / "__init__.py").write_text("raise SystemExit('a strange pip')\n")
    script = 'set -euo pipefail; BENCH_PROGRAM=test; BENCH_ROOT=$1; source "$1/src/setup.sh" "$2"'
    return subprocess.Popen(
        [
            "bash",
            "-c",
            f"{before}; {script}",
            "bash",
            str(project),
            str(project / "requirements.txt"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(strange.parent),
            "PIP_NO_INDEX": "1",
            "BENCH_PYTHON": str(project / "python"),
        },
    )


def test_what_has_not_the_locked_hash_is_not_installed(project: Path) -> None:
    wheel = standin.write_wheel(project / "wheels")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for hashes, said in (("", "Hashes are required"), ("0" * 64, "DO NOT MATCH THE HASHES")):
        wanted = f"{wheel}" + (f" --hash=sha256:{hashes}" if hashes else "")
        refused = set_up(project, wanted)
        assert refused.returncode == 3, refused.stderr
        assert said in refused.stderr
        assert "the libraries could not be installed" in refused.stderr
    done = set_up(project, f"{wheel} --hash=sha256:{digest}")
    assert done.returncode == 0, done.stderr
    python = project / ".bench" / "venv" / "bin" / "python"
    subprocess.run([python, "-c", "import standin.run"], check=True)


def test_a_project_that_was_moved_has_its_own_package_again(project: Path) -> None:
    assert set_up(project, "").returncode == 0
    moved = project.rename(project.with_name("moved"))
    try:
        done = set_up(moved, "")
        assert done.returncode == 0, done.stderr
        (link,) = (moved / ".bench" / "venv").glob("lib/python3*/site-packages/waitbench.pth")
        assert link.read_text().splitlines() == [str(moved / "src"), str(moved)]
    finally:
        moved.rename(project)


@pytest.mark.long
@pytest.mark.parametrize("damage", ["no python", "no standard library", "no pip"])
def test_a_damaged_virtualenv_is_made_anew_and_said_once(damage: str, project: Path) -> None:
    wheel = standin.write_wheel(project / "wheels")
    requirement = f"{wheel} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    assert set_up(project, requirement).returncode == 0
    venv = project / ".bench" / "venv"
    (packages,) = venv.glob("lib/python3*/site-packages")
    shutil.rmtree(packages / "standin")
    if damage == "no python":
        (venv / "bin" / "python").unlink()
    elif damage == "no standard library":
        (venv / "bin" / "python").unlink()
        (venv / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
        (venv / "bin" / "python").chmod(0o755)
    else:
        shutil.rmtree(packages / "pip")
        (venv / "requirements.txt.stamp").unlink()
    done = set_up(project, requirement)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("are damaged; they are installed again.\n") == 1
    subprocess.run([venv / "bin" / "python", "-c", "import standin.run"], check=True)
    assert set_up(project, requirement).stderr == ""


def test_a_good_virtualenv_stays_where_no_python_can_start(project: Path) -> None:
    assert set_up(project, "").returncode == 0
    marker = project / ".bench" / "venv" / "marker"
    marker.touch()
    refused = set_up(project, "", before="ulimit -v 8000")
    assert refused.returncode == 3, refused.stderr
    assert ("Python >= 3.10 is needed" in refused.stderr, marker.exists()) == (True, True)
