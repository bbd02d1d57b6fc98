"""A program that adopts orphans, as the harness does, in a process of its own."""

import subprocess
import sys
import textwrap
from pathlib import Path

from waitbench.system.places import ROOT

_BEGIN = """\
import os, sys, threading
from pathlib import Path
from waitbench.system import processes, trees
trees.adopt_orphans()
"""
_END = """
assert trees.below(os.getpid()) == [processes.GUARD.number]
"""


def adopting(program: str, folder: Path) -> str:
    """What it prints. It must leave nothing but the guard."""
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + textwrap.dedent(program) + _END],
        capture_output=True, text=True, cwd=folder, check=False, timeout=120,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
