"""Counts of trees whose threads and children end: CPU, wake-ups and restarts."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec import convert

from tests.counting import needs_events
from tests.execution.launches import CALM, LAUNCHER, REFUSED, worker
from tests.running import run
from waitbench.execution.accounting import LaunchReport, incomplete_in, metrics_of
from waitbench.system.paths import PACKAGE

LONGER = CALM.replace("0.4", "2")
COUNTS = """
import os, signal, threading, time
slept = os.open("slept", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def nap(times):
    for _ in range(times):
        time.sleep(0.005)
        os.write(slept, b".")
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def tell(*_):
    os.write(used, b"%f\\n" % time.process_time())
    os._exit(0)
used = os.open("used", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print("up", flush=True)
"""
"""What it does itself it writes down: how often it has slept, and what it has used."""
BOTH = [
    pytest.param(LAUNCHER, id="counted", marks=needs_events),
    pytest.param(REFUSED, id="by /proc"),
]


@pytest.mark.parametrize("by", BOTH)
@pytest.mark.parametrize(
    "does",
    [
        "while True: threading.Thread(target=nap, args=(18,)).start(); time.sleep(0.1)",
        "while True:\n    if os.fork() == 0: nap(18); os._exit(0)\n    os.wait()",
        "while True: nap(1)",
    ],
    ids=["threads", "children", "nothing that ends"],
)
def test_wakeups_of_what_has_ended_are_counted(
    does: str, by: tuple[str, ...], tmp_path: Path
) -> None:
    result = worker(tmp_path, COUNTS + does, LONGER, program=by)
    assert result.exit_code == 0, result.failure
    slept = (tmp_path / "run" / "work" / "slept").stat().st_size
    alive_ns = result.report["marks"]["exit"]["monotonic_ns"] - result.report["ready_ns"]
    share = result.rise("monotonic_ns") / alive_ns
    # It does the same all the time.
    assert (
        0.6 * share * slept
        < metrics_of(9.0, convert(result.report, LaunchReport), [])["wakeups"]
        < 1.7 * share * slept
    )


@pytest.mark.parametrize("by", BOTH)
def test_where_nobody_waits_for_children_proc_has_no_cpu_and_no_wakeups(
    by: tuple[str, ...], tmp_path: Path
) -> None:
    does = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True: nap(1)"
    result = worker(tmp_path, COUNTS + does, program=by)
    assert result.exit_code == 0, result.failure
    incomplete = incomplete_in(convert(result.report, LaunchReport))
    lost = {"time_cpu", "time_cpu_idle", "time_cpu_window", "cpu_share_idle", "wakeups"}
    assert lost & incomplete.keys() == (lost if by is REFUSED else set())


UNWAITED = """
signal.signal(signal.SIGTERM, tell)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0: burn(0.003); tell()
    for _ in range(50): time.sleep(0.0005)
"""


@needs_events
def test_cpu_of_children_that_nobody_waits_for_adds_to_that_of_a_parent_that_wakes_up_often(
    tmp_path: Path,
) -> None:
    """The kernel's counter lacks a part of each wake-up, and the clocks lack the children."""
    result = worker(tmp_path, COUNTS + UNWAITED, LONGER)
    assert result.exit_code == 0, result.failure
    used_s = sum(map(float, (tmp_path / "run" / "work" / "used").read_text().split()))
    assert metrics_of(9.0, convert(result.report, LaunchReport), [])["time_cpu"] > 0.95 * used_s


@pytest.mark.parametrize("orphans", [False, True], ids=["its own", "adopted by the launcher"])
def test_a_child_that_crashes_again_and_again_is_a_restart_even_if_none_lives_at_the_ends(
    orphans: bool, tmp_path: Path
) -> None:
    does = f"""
while True:
    child = os.fork()
    if child == 0:
        if {orphans} and os.fork() == 0: os._exit(1)
        os._exit(1)
    os.waitpid(child, 0)
    time.sleep(0.25)
"""
    result = worker(tmp_path, COUNTS + does, LONGER)
    assert result.exit_code == 0, result.failure
    assert result.report["totals"]["processes_replaced"] >= 1


READS = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from waitbench.execution.counted_tree import Command, CountedTree
tree = CountedTree(None)
script = "while sleep 0.01; do :; done"
tree.start(Command(f"{sys.argv[1]}/sh", ["sh", "-c", script], {"PATH": "/bin"}, Path("/")))
was_counted = tree.is_counted
time.sleep(0.3)
print(was_counted, tree.reading()["wakeups"] > 0, tree.is_counted)
tree.kill_all()
"""


@needs_events
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@pytest.mark.parametrize("mode", [0o755, 0o711], ids=["readable", "unreadable"])
def test_wakeups_of_a_program_that_its_user_may_not_read_are_those_of_proc(mode: int) -> None:
    """The kernel drops the counters of a process that executes such a program."""
    # Not below the folder of all tests, which is closed to others.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, Path(folder, "waitbench"), ignore=ignored)
        shutil.copy("/bin/sh", folder)
        Path(folder, "sh").chmod(mode)
        user = "--reuid=65534", "--regid=65534", "--clear-groups"
        may_count = "--inh-caps=+perfmon", "--ambient-caps=+perfmon"
        done = run("setpriv", *user, *may_count, sys.executable, "-ISc", READS, folder)
    if not done.stdout.startswith("True"):
        pytest.skip(f"another user may not count here: {done.stderr}")
    assert done.stdout.split() == ["True", "True", str(mode == 0o755)]
