"""Exit code 1 says that a gate failed, and nothing else ever says it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.faults.clones import QUICK, Clone
from tests.running import run, write_strange_modules
from waitbench.system.paths import ROOT

pytestmark = pytest.mark.integration

CLOSED = (">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-")
"""How a shell closes what a program reads or writes."""


def shell(command: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    return run("bash", "-c", command, env=changes, timeout_s=120)


@pytest.mark.parametrize(
    ("program", "closed"), [*(("waitbench", how) for how in CLOSED), ("runner.py", CLOSED[-1])]
)
def test_a_stream_that_the_caller_closed_is_no_error(program: str, closed: str) -> None:
    start = f"{sys.executable} " if program == "runner.py" else ""
    done = shell(f"{start}{ROOT / program} scenarios {closed}")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize(
    ("margin", "stream", "code", "said"),
    [
        ("10%", ">&-", 1, ""),
        ("10%", ">/dev/full", 3, "No space left"),
        ("10%", "| true", 3, ""),
        ("9000%", ">&-", 0, ""),
        ("9000%", ">/dev/full", 3, "No space left"),
    ],
)
def test_a_verdict_that_cannot_be_printed_is_written_and_no_pass(
    margin: str, stream: str, code: int, said: str, shared_clone: Clone
) -> None:
    revisions = [f"A={shared_clone.wheel('ok')}", f"B={shared_clone.wheel('other', 'burn 0.4')}"]
    # Measured once for each margin.
    folder = shared_clone.root / f"verdict-{margin.strip('%')}"
    gate = [
        "--fail-on",
        f"cpu:{margin}",
        "--rounds",
        "18",
        "--no-plot",
        "--json",
        *["--resume"] * folder.exists(),
    ]
    named = " ".join([*revisions, *QUICK, *gate, "--results", str(folder)])
    (folder / "verdict.json").unlink(missing_ok=True)
    done = shell(f"{shared_clone.root}/compare.sh {named} {stream}; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["outcome"] == ("fail" if margin == "10%" else "pass")


@pytest.mark.parametrize(
    ("limits", "said"), [("true", "you may not write to "), ("ulimit -u 3", "fork: ")]
)
def test_what_another_user_may_not_do_is_no_regression(limits: str, said: str) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root may become somebody else")
    # Not below the folder of all tests, which is closed to others.
    with tempfile.TemporaryDirectory() as clone:
        Path(clone).chmod(0o755)
        for name in ("src/setup.sh", "waitbench", "compare.sh", "requirements.txt"):
            (Path(clone) / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, Path(clone) / name)
        as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        begin = f"exec {as_nobody} bash -c '{limits}; exec {clone}/compare.sh A B'"
        done = shell(begin, PATH="/usr/bin:/bin")
    assert (done.returncode, said in done.stderr) == (3, True), done.stderr


def test_a_script_without_its_parts_is_exit_3(tmp_path: Path) -> None:
    shutil.copy(ROOT / "waitbench", tmp_path)
    done = shell(f"{tmp_path}/waitbench scenarios")
    assert (done.returncode, "setup.sh" in done.stderr) == (3, True)


def test_variables_of_python_s_and_the_current_folder_change_nothing(
    shared_clone: Clone, tmp_path: Path
) -> None:
    ran = write_strange_modules(strange := tmp_path / "strange")
    variables = {"PYTHONPATH": str(strange), "PYTHONHOME": "/nowhere", "PYTHONIOENCODING": "none"}
    for script in ("compare.sh", "plot.sh", "waitbench"):
        done = run(ROOT / script, "--help", env=variables, cwd=strange)
        assert (done.returncode, "Usage" in done.stdout) == (0, True), done.stderr
    # Nothing is kept of a wheel of that name: an environment is made.
    folder = shared_clone.root / f"{tmp_path.name}"
    wheel = shared_clone.wheel(folder.name, "do pass")
    done = shared_clone.run(f"A={wheel}", *QUICK, "--rounds", "1", "--no-plot", cwd=strange)
    assert (done.returncode, ran.exists()) == (0, False), done.stderr


@pytest.mark.parametrize("variable", ["BENCH_HOME", "BENCH_CACHE"])
def test_a_home_that_nobody_has_is_a_folder_of_that_name(variable: str) -> None:
    named = {variable: "~no-such-user/x"}
    done = run(ROOT / "waitbench", "report", ROOT / "docs/samples/input", env=named)
    assert done.returncode == 0, done.stderr


def copy(folder: Path) -> None:
    """Lays out what starts, without libraries: nothing that a test damages is the project's own."""
    for name in ("src", "dataflows", "runner.py", "waitbench"):
        one = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        one(ROOT / name, folder / name)


@pytest.mark.parametrize(
    ("library", "content"),
    [
        ("typer", "raise RuntimeError('broken')"),
        ("types", "raise SystemExit('strange')"),
        *((one, "raise ModuleNotFoundError('gone')") for one in ("typer", "msgspec", "rich")),
    ],
)  # fmt: skip
def test_libraries_that_cannot_be_imported_are_one_sentence(
    library: str, content: str, tmp_path: Path
) -> None:
    copy(tmp_path)
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / f"{library}.py").write_text(content)
    done = shell(f"{sys.executable} {tmp_path}/runner.py scenarios", PYTHONPATH=str(strange))
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert ("remove .bench/venv" in done.stderr) == ("gone" in content)
