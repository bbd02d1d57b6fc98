"""Runs programs, and finds those that run."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil


def run(
    *command: object, env: Mapping[str, str] = {}, cwd: Path | None = None, timeout_s: float = 300
) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end, with these variables besides those of the tests."""
    return subprocess.run(
        [str(one) for one in command],
        capture_output=True, text=True, check=False, timeout=timeout_s, cwd=cwd,
        env={**os.environ, **env},
    )  # fmt: skip


def write_strange_modules(folder: Path) -> Path:
    """Modules named as those of Python and its tools. Returns the file that says which were run."""
    ran = folder.with_name("ran")
    folder.mkdir()
    for name in ("enum", "pip", "sitecustomize", "token", "types", "typing", "venv", "virtualenv"):
        said = f"open({str(ran)!r}, 'a').write({name!r} + chr(10))\nraise SystemExit({name!r})\n"
        (folder / f"{name}.py").write_text(said)
    return ran


@contextmanager
def python(code: str, *arguments: object, **more: Any) -> "Iterator[subprocess.Popen[str]]":
    """A program of Python, whose lines can be read; killed in the end."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def command_line(process: psutil.Process) -> list[str]:
    """Empty if the process has ended."""
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def processes_with(text: str) -> list[list[str]]:
    """Command lines of those that have it there, in a variable, or in their folder's name."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            told = [*process.cmdline(), *process.environ().values(), process.cwd()]
            if process.status() != psutil.STATUS_ZOMBIE and any(text in one for one in told):
                found.append(process.cmdline())
    return found
