"""The fixture of pytest, in suites of its own."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import run
from tests.test_structure import loaded_by
from waitbench.system.paths import PACKAGE, ROOT

PLUGIN = "waitbench.features.look.pytest_plugin"
SUITE = """
import os, subprocess, sys
import pytest

@pytest.fixture
def worker():
    program = "import time\\nwhile True: time.sleep({pause})"
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        yield process
        process.kill()

def test_idle(waitbench, worker):
    waitbench.check({arguments})
"""
Suite = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """Runs a suite with one check."""

    def run_suite(arguments: str, *options: str) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "test_it.py").write_text(SUITE.format(arguments=arguments, pause=0.005))
        command = (sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", *options)
        return run(*command, tmp_path, cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE.parent)})

    return run_suite


def test_a_start_of_pytest_loads_nothing_but_names() -> None:
    loaded = loaded_by(f"import {PLUGIN}")
    assert not loaded & {"numpy", "pandas", "scipy", "msgspec", "typer", "rich"}
    ours = {name for name in loaded if name.startswith("waitbench.")}
    assert ours == {"waitbench.features", "waitbench.features.look", PLUGIN}


@pytest.mark.integration
def test_the_example_of_the_document_passes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "look.md").read_text("utf-8")
    (example,) = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    (tmp_path / "test_it.py").write_text(
        f"{SUITE.partition('def test_idle')[0].format(pause=1)}{example}"
    )
    command = (sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", tmp_path)
    done = run(*command, cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, done.stdout


@pytest.mark.integration
def test_a_failed_check_prints_the_table_and_with_its_option_the_functions(suite: Suite) -> None:
    check = "worker.pid, wakeups='20/s', seconds=9"
    done = suite(check)
    assert done.returncode == 1
    assert "at most 20/s" in done.stdout
    assert "what it costs now" in done.stdout
    assert "from where" not in done.stdout
    assert "Traceback" not in done.stdout
    assert "\nFAILED test_it.py::test_idle - Failed: FAIL: " in done.stdout
    assert "from where" in suite(check, "--waitbench-why").stdout


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("os.getpid(), idle='1%'", "is waitbench itself"),
        ("'no-such-name', idle='1%'", "nor the name of a running process"),
    ],
)
def test_a_check_that_cannot_be_made_is_a_failure_with_its_reason(
    suite: Suite, arguments: str, message: str
) -> None:
    done = suite(arguments)
    assert done.returncode == 1
    assert message in " ".join(done.stdout.split())
