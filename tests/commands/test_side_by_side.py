"""Worker files of which several runs take place at once, as a user meets them."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.commands.idle_workers import program, worker
from tests.commands.processes import records_in
from tests.conftest import Compare
from waitbench.model.run import CONCURRENT, INTERFERED

pytestmark = pytest.mark.integration
FIXED_PORT = """
import socket, time
server = socket.create_server(("127.0.0.1", 27431))
print("up", flush=True)
while True: time.sleep(1)
"""


def python(folder: Path, name: str, code: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    return path


def marked(folder: Path) -> Counter[tuple[str, bool]]:
    """How many runs of each revision took place at once with others, and how many not."""
    (record,) = records_in(folder)
    return Counter((run.label, CONCURRENT in run.marks) for run in record.measurements)


def test_what_idles_is_measured_at_once_after_its_first_round(
    run_compare: Compare, tmp_path: Path
) -> None:
    both = (program(tmp_path, name, 0.5) for name in "ab")
    file = worker(tmp_path, "[poke]\ncommand = 'true'\n", window_s=0.5)
    done = run_compare(*both, "--worker", file, "--rounds", 3, "--no-plot")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = marked(tmp_path / "results")
    assert sorted(counts.values()) == [1, 1, 2, 2]
    assert {is_beside: count for (_, is_beside), count in counts.items()} == {False: 1, True: 2}
    page = tmp_path / "page.html"
    report = run_compare("--html", page, tmp_path / "results", command="report")
    assert report.returncode == 0, report.stderr
    assert page.read_text().count(CONCURRENT) == 4


def test_workers_with_a_fixed_port_take_turns_and_none_fails(
    run_compare: Compare, tmp_path: Path
) -> None:
    """Though only the candidate has it."""
    any_port = FIXED_PORT.replace("27431", "0")
    both = (python(tmp_path, name, code) for name, code in (("a", any_port), ("b", FIXED_PORT)))
    file = worker(tmp_path, window_s=0.3)
    done = run_compare(*both, "--worker", file, "--rounds", 3, "--no-plot")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(marked(tmp_path / "results").items()) == [(("a", False), 3), (("b", False), 3)]
    (record,) = records_in(tmp_path / "results")
    assert [one.reason for one in record.failed_runs] == [INTERFERED] * 4
    assert any("Address already in use" in one.message for one in record.failed_runs)
