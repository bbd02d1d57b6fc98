"""The engine that docs/engines.md shows: what is written there is enough, and works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import clones
from tests.faults.clones import records_in
from waitbench.system.places import ROOT

pytestmark = pytest.mark.integration


def lay_out(engines: Path) -> None:
    """Writes the document's two modules where it says that they belong."""
    text = (ROOT / "docs" / "engines.md").read_text("utf-8").partition("## A new engine")[2]
    found = dict(re.findall(r"`toolz/(\S+\.py)`.*?```python\n(.*?)```", text, re.DOTALL))
    assert set(found) == {"__init__.py", "carrier/carrier.py"}
    for name, content in found.items():
        path = engines / "toolz" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")


def test_a_new_engine_passes_the_linters_though_nothing_else_names_it(tmp_path: Path) -> None:
    for name in ("src", "dataflows"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    lay_out(tmp_path / "src" / "waitbench" / "engines")
    new = "src/waitbench/engines/toolz"
    for linter in (
        ["ruff", "check", new],
        ["ruff", "format", "--check", new],
        ["mypy", f"{new}/__init__.py", f"{new}/carrier/carrier.py"],
    ):
        program = Path(sys.executable).with_name(linter[0])
        done = subprocess.run(
            [program, *linter[1:]], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_engine_is_measured(tmp_path: Path) -> None:
    clone = clones.make(tmp_path / "clone")
    lay_out(clone.root / "src" / "waitbench" / "engines")
    done = clone.run(
        "toolz@0.12.1", "toolz@1.0.0", "-s", "partitioned-long-input", "--no-instruments",
        "--no-plot", "--rounds", "1", "--set", "items_per_partition=4",
        "--results", tmp_path / "results",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records_in(tmp_path / "results")
    assert [len(record.of(label)) for label in record.context.labels] == [1, 1]
