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
from tests.running import run
from waitbench.system.places import ROOT

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
        "16",
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


def test_a_clone_that_another_user_owns_is_a_sentence_and_no_regression() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root may become somebody else")
    # Not below the folder of all tests, which is closed to others.
    with tempfile.TemporaryDirectory() as clone:
        Path(clone).chmod(0o755)
        for name in ("src/setup.sh", "waitbench", "compare.sh", "requirements.txt"):
            (Path(clone) / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, Path(clone) / name)
        as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        done = shell(f"{as_nobody} {clone}/compare.sh A B", PATH="/usr/bin:/bin")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert f"you may not write to {clone}/.bench" in done.stderr


def test_a_script_that_cannot_start_python_is_exit_3_and_names_why(tmp_path: Path) -> None:
    for name, value in (("PYTHONHOME", "/nowhere"), ("PYTHONIOENCODING", "no-encoding")):
        done = shell(f"{ROOT}/waitbench scenarios", **{name: value})
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
        assert f"{name}={value} keeps Python from starting. Unset it." in done.stderr
    shutil.copy(ROOT / "waitbench", tmp_path)
    done = shell(f"{tmp_path}/waitbench scenarios")
    assert (done.returncode, "setup.sh" in done.stderr) == (3, True)


def copy(folder: Path) -> None:
    """Lays out what starts, without libraries: nothing that a test damages is the project's own."""
    for name in ("src", "dataflows", "runner.py", "waitbench"):
        one = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        one(ROOT / name, folder / name)


@pytest.mark.parametrize(
    ("library", "content"),
    [
        ("typer", "raise RuntimeError('broken')"),
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
