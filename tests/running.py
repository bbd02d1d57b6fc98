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


def processes_with(text: str) -> list[list[str]]:
    """Command lines of those that have it there, in a variable, or in their folder's name."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            told = [*process.cmdline(), *process.environ().values(), process.cwd()]
            if process.status() != psutil.STATUS_ZOMBIE and any(text in one for one in told):
                found.append(process.cmdline())
    return found
