"""Whatever happens, one sentence and an exit code that says whose turn it is."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import runner
from tests.running import run
from waitbench.system.paths import ROOT, Cache

SAMPLE = ROOT / "docs" / "samples" / "input"


RUNNER = (sys.executable, ROOT / "runner.py")


def fail(*_arguments: object) -> None:
    raise IndexError("of https://user:TOKEN@host/repository")


def test_what_nobody_foresaw_is_exit_3_and_its_details_are_in_a_log_or_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("waitbench.store.folders.existing_folder", fail)
    monkeypatch.setattr("waitbench.system.shutdown.Cache", lambda: Cache(tmp_path))
    monkeypatch.setattr("sys.argv", ["runner.py", "report", "https://me:SECRET@host/x"])
    assert runner.main() == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "unexpected error" in said
    assert "IndexError: of https://***@host/repository" in said
    (log,) = (tmp_path / "logs").iterdir()
    assert str(log) in said
    text = log.read_text("utf-8")
    assert text.startswith("runner.py report https://***@host/x\n")
    assert "Traceback" in text
    assert "TOKEN" not in text
    # Where no log can be written.
    monkeypatch.setattr("waitbench.system.shutdown.Cache", lambda: Cache(log))
    assert runner.main() == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["scenarios"], ["report", str(SAMPLE)]])
def test_output_that_cannot_be_written_is_exit_3(command: list[str]) -> None:
    done = run("sh", "-c", '"$@" >/dev/full', "sh", *RUNNER, *command)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [("-u",), ()], ids=["each line", "at the end"])
def test_a_reader_that_has_read_enough_hears_no_complaint(how: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, *how, str(ROOT / "runner.py"), "report", str(SAMPLE)],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (3, "")


def test_without_git_a_commit_is_exit_3(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    arguments = ("compare", "main", "--repo", tmp_path / "repository")
    done = run(*RUNNER, *arguments, env={"PATH": str(tmp_path), "BENCH_PROGRAM": "me"})
    assert (done.returncode, done.stderr) == (
        3, "me: git is not installed here. Install it (apt-get install git).\n",
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_interpreter_goes_changes_nothing(number: signal.Signals) -> None:
    code = f"""
        import os
        from waitbench.system import shutdown
        class Late:
            def __del__(self, kill=os.kill, pid=os.getpid()):
                kill(pid, {int(number)})
        late = Late()
        shutdown.handle_signals()
        """
    program = ("env", f"--default-signal={number.name[3:]}", sys.executable)
    done = run(*program, "-c", dedent(code), cwd=ROOT / "src")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "code", "imported"),
    [
        ("INT", -signal.SIGINT, "sitecustomize"),
        ("INT", -signal.SIGINT, "traceback"),
        ("TERM", 130, "sitecustomize"),
        ("HUP", 130, "traceback"),
    ],
)
def test_a_signal_before_anything_is_imported_ends_it_silently(
    name: str, code: int, imported: str, tmp_path: Path
) -> None:
    strike = f"import os, signal\nos.kill(os.getpid(), signal.SIG{name})\n"
    (tmp_path / f"{imported}.py").write_text(strike)
    # As from a terminal, whatever started these tests has it ignore.
    program = ("env", f"--default-signal={name}", sys.executable, "-S", ROOT / "runner.py")
    done = run(*program, "scenarios", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
