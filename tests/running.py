"""Runs programs for what they print."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def run(
    *command: object, env: Mapping[str, str] = {}, cwd: Path | None = None, timeout_s: float = 300
) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end, with these variables besides those of the tests."""
    return subprocess.run(
        [str(one) for one in command],
        capture_output=True, text=True, check=False, timeout=timeout_s, cwd=cwd,
        env={**os.environ, **env},
    )  # fmt: skip
