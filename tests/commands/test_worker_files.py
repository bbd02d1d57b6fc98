"""Workers that are commands, measured end to end as a user does."""

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.commands.idle_workers import program, worker
from tests.commands.processes import records_in, start
from tests.conftest import Compare
from tests.running import processes_with
from tests.waiting import until

pytestmark = pytest.mark.integration
QUICKLY = ("--no-plot", "--rounds", "1")


def runs_of(results: Path) -> Mapping[str, Mapping[str, Any]]:
    """The first measurement of each revision."""
    found = json.loads((results / "mine.json").read_text())["results"]
    return {one["command"]: one["measurements"][0] for one in found}


@pytest.mark.smoke
def test_two_programs_are_measured_side_by_side(run_compare: Compare, tmp_path: Path) -> None:
    slow, fast = (program(tmp_path, name, pause) for name, pause in (("a", 1), ("b", 0.05)))
    server = "[services.web]\ncommand = 'python3 -m http.server {port} --bind 127.0.0.1'\n"
    file = worker(tmp_path, f'[limits]\nwakeups = "1/s"\n{server}')
    done = run_compare(f"before={slow}", f"after={fast}", "--worker", file, *QUICKLY)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "results" / "verdict.json").exists(), "no gate: no limit is asked"
    runs = runs_of(tmp_path / "results")
    rises = [runs[label]["wakeups"]["value"] for label in ("before", "after")]
    assert rises[1] > rises[0]
    assert runs["after"]["time_cpu_idle"]["value"] > runs["before"]["time_cpu_idle"]["value"]
    assert runs["after"]["memory_proportional"]["value"] > 0
    assert "memory_peak_resident" not in runs["after"]
    (record,) = records_in(tmp_path / "results")
    assert all(run.metrics["service_memory"] > 2**20 for run in record.measurements)
    assert "same build" not in done.stdout


def test_a_limit_of_a_file_fails_and_one_of_wake_ups_does_not_wait_for_a_poke(
    run_compare: Compare, tmp_path: Path
) -> None:
    never = "[poke]\ncommand = 'true'\ndone = { log = 'never', within = 600 }\n"
    file = worker(tmp_path, f"{never}[limits]\nwakeups = '1/s'\n", window_s=0.5)
    done = run_compare(program(tmp_path, "a", 0.05), "--worker", file, "--no-plot")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL: a: wake-ups while waiting" in done.stdout
    verdict = json.loads((tmp_path / "results" / "verdict.json").read_text())
    (judged,) = verdict["judgements"]
    assert (judged["criterion"], judged["fails"]) == ("limit wakeups:1/s", True)
    (record,) = records_in(tmp_path / "results")
    assert not [run for run in record.measurements if run.incomplete]


def test_a_budget_ends_the_rounds_without_a_gate(run_compare: Compare, tmp_path: Path) -> None:
    options = ("--worker", worker(tmp_path, window_s=2), "--rounds", "9999", "--budget", "20")
    done = run_compare(program(tmp_path, "a", 1), *options, "--no-plot")
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records_in(tmp_path / "results")
    assert 0 < len(record.measurements) < 9999


@pytest.mark.parametrize("edited", ["task.txt", "a"])
def test_what_is_edited_while_it_is_measured_has_no_result(
    edited: str, run_compare: Compare, tmp_path: Path
) -> None:
    (tmp_path / "task.txt").touch()
    named = program(tmp_path, "a", 0.05, first=f"echo '#' >> {tmp_path / edited}")
    done = run_compare(named, "--worker", worker(tmp_path, "files = ['task.txt']"), *QUICKLY)
    assert done.returncode == 3, done.stdout + done.stderr
    name = "a" if edited == "a" else "mine.toml or one of its files"
    assert f"{name} changed while it was measured" in done.stderr


@pytest.mark.parametrize(("how", "which"), [(signal.SIGINT, "server"), (signal.SIGKILL, "worker")])
def test_ending_it_leaves_no_worker_and_no_service(
    how: signal.Signals, which: str, tmp_path: Path
) -> None:
    """As soon as the service is there, or the worker: before anybody was told of it.

    The worker has a child with a session of its own.
    """
    server = program(tmp_path, "server", 1)
    more = f"[services.other]\ncommand = '{server}'\nready = {{ command = 'true' }}\n"
    file = worker(tmp_path, more, window_s=60)
    own = program(tmp_path, "a", 1)
    own.write_text(own.read_text().replace("echo up", f"setsid {server} &\necho up"))
    comparing = start(own, "--worker", file, *QUICKLY, "--results", tmp_path / "results")
    awaited = str({"server": server, "worker": own}[which])
    until(lambda: any(awaited in words[:2] for words in processes_with(str(tmp_path))))
    comparing.send_signal(how)
    comparing.communicate(timeout=20)
    assert comparing.returncode in (130, -signal.SIGKILL)
    until(lambda: not processes_with(str(tmp_path)), each_s=0.05)
