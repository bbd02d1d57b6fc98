"""What running processes use, counted from outside: beside what they count of themselves."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from tests.conftest import Said
from tests.counting import needs_events
from tests.running import python
from tests.waiting import until
from waitbench.features.look import observe
from waitbench.model.errors import UsageError
from waitbench.system import proc

COUNTING = """
import os, subprocess, sys, threading, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
def done(count): os.write(log, b"." * count)
"""
SLEEPS = """
def tick():
    while True:
        time.sleep(0.005)
        done(1)
"""
ALONE = f"{SLEEPS}tick()"
THREADED = f"{SLEEPS}threading.Thread(target=tick).start()\ntick()"
CHILDREN = """
CHILD = "import time\\nfor _ in range(100): time.sleep(0.0005)"
while True:
    subprocess.run([sys.executable, "-c", CHILD])
    done(100)
"""
PARENT = """
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
done(1)
time.sleep(600)
"""
UNWAITED = """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        end = time.process_time() + 0.003
        while time.process_time() < end: pass
        done(1)
        os._exit(0)
    for _ in range(50): time.sleep(0.0005)
"""
DAEMON = """
import ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # it adopts orphans
if os.fork() == 0:
    done(1)
    sys.stdin.readline()
    if os.fork() == 0:
        if os.fork() == 0:
            end = time.process_time() + 0.3
            while time.process_time() < end: pass
            done(1)
            time.sleep(600)
        os._exit(0)
    os.wait()
time.sleep(600)
"""
ENDS = """
done(1)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Target:
    """A program that counts how often it sleeps."""

    process: Popen[str]
    path: Path

    @property
    def count(self) -> int:
        return self.path.stat().st_size


@contextmanager
def target(program: str, folder: Path) -> Iterator[Target]:
    path = folder / "count"
    path.touch()
    with python(COUNTING + program, path) as process:
        sleeper = Target(process, path)
        try:
            until(lambda: sleeper.count)
            yield sleeper
        finally:
            proc.kill(lambda: [process.pid, *proc.descendants(process.pid)])


def observed(sleeper: Target, seconds: float = 0.5) -> tuple[observe.Total, int]:
    """Its cost, and how often it has slept at the least."""
    before = sleeper.count
    cost = observe.observe(observe.find(str(sleeper.process.pid)), seconds)
    return cost, sleeper.count - before


def alone(*pids: int) -> observe.Target:
    """These processes without their children."""
    return observe.Target("these", frozenset(pids), frozenset(pids))


def wakeups(cost: observe.Observed, seconds: float = 0.5) -> float:
    return cost.wakeups_per_s * seconds


@pytest.mark.parametrize("program", [ALONE, THREADED])
def test_a_wakeup_is_each_sleep_that_a_program_counts_itself(program: str, tmp_path: Path) -> None:
    with target(program, tmp_path) as sleeper:
        cost, slept = observed(sleeper)
        (process,) = cost.parts
        assert 0.5 * slept < wakeups(cost) <= 1.5 * slept
        assert process.id == sleeper.process.pid
        assert len(process.parts) == (2 if program == THREADED else 1)
        of_threads = sum(thread.wakeups_per_s for thread in process.parts)
        assert of_threads == pytest.approx(process.wakeups_per_s, rel=0.2)
        assert 0 < cost.cores < 1
        assert (cost.memory_bytes or 0) > 2**20
        assert cost.memory_bytes == process.memory_bytes


@needs_events
def test_children_that_are_born_and_end_meanwhile_are_counted(tmp_path: Path) -> None:
    with target(CHILDREN, tmp_path) as sleeper:
        cost, slept = observed(sleeper, 2.0)
        # What it sleeps by itself is a few for each child.
        assert wakeups(cost, 2.0) > 0.5 * slept > 50
        (process, *_) = (part for part in cost.parts if part.id == sleeper.process.pid)
        assert process.cores > sum(thread.cores for thread in process.parts)


@needs_events
def test_children_that_nobody_waits_for_add_to_a_parent_that_wakes_up_often(
    tmp_path: Path,
) -> None:
    with target(UNWAITED, tmp_path) as sleeper:
        count, clock_s = sleeper.count, proc.clock_s(sleeper.process.pid)
        cost = observe.observe(alone(sleeper.process.pid), 2.0)
        used_s = proc.clock_s(sleeper.process.pid) - clock_s + 0.003 * (sleeper.count - count)
    assert cost.cores * cost.seconds > 0.93 * used_s


@needs_events
def test_a_daemon_is_counted_once_whoever_of_the_group_has_adopted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = observe.wait

    def begin_and_wait(*given: Any) -> None:
        assert sleeper.process.stdin is not None
        sleeper.process.stdin.write("\n")
        sleeper.process.stdin.flush()
        until(lambda: sleeper.count == 2)
        wait(*given)

    monkeypatch.setattr(observe, "wait", begin_and_wait)
    with target(DAEMON, tmp_path) as sleeper:
        pids = {sleeper.process.pid, *proc.descendants(sleeper.process.pid)}
        assert len(pids) == 2
        cost = observe.observe(alone(*pids), 0.1)
    assert 0.27 < cost.cores * cost.seconds < 0.5


@needs_events
def test_one_that_ends_is_counted_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = observe.wait

    def end_and_outlast(*given: Any) -> None:
        sleeper.process.communicate()
        wait(*given)

    monkeypatch.setattr(observe, "wait", end_and_outlast)
    with target(ENDS, tmp_path) as sleeper:
        cost = observe.observe(alone(sleeper.process.pid), 600.0)
    assert cost.seconds < 600
    assert cost.cores > 0, "it ends its interpreter"
    assert cost.notes[-1] == "1 of 1 processes ended meanwhile, counted until then."
    assert cost.memory_bytes is cost.parts[0].memory_bytes is None, "not 0"


def test_where_the_kernel_refuses_its_counters_proc_is_read_and_where_it_hides_memory_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("waitbench.system.counters.TreeCounters", refuse)
    monkeypatch.setattr(proc, "memory", lambda _: None)
    with target(ALONE, tmp_path) as sleeper:
        cost, slept = observed(sleeper)
    assert 0.5 * slept < wakeups(cost) <= 1.5 * slept
    assert cost.cores > 0
    assert cost.syscalls_per_s is cost.memory_bytes is None
    assert "does not count here: Permission denied" in cost.notes[0]
    assert "that have ended are not in these figures" in cost.notes[0]
    assert cost.notes[-1] == "This user may not read the memory of some of these."


def test_a_cgroup_is_all_processes_in_it_and_below(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    with target(ALONE, tmp_path) as sleeper, target(ALONE, below) as other:
        pids = {sleeper.process.pid, other.process.pid}
        for folder, each in ((tmp_path, sleeper), (below, other)):
            # 0 is a process outside of the namespace.
            (folder / "cgroup.procs").write_text(f"{each.process.pid}\n0\n{os.getpid()}\n")
        target_of_both = observe.find(str(tmp_path))
        assert target_of_both.pids == target_of_both.roots == pids
        cost = observe.observe(target_of_both, 0.2)
        assert {part.id for part in cost.parts} == pids


def test_what_cannot_be_looked_at_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in ("999999999", "9" * 5000, "0"):
        with pytest.raises(UsageError, match=f"no process {number} that"):
            observe.find(number)
    for target_name in (str(tmp_path), "", "no-such-name", "-1", "a/\0b"):
        with pytest.raises(
            UsageError, match=r"neither a PID nor a cgroup's folder .*, nor the name"
        ):
            observe.find(target_name)
    with pytest.raises(UsageError, match="is waitbench itself"):
        observe.find(str(os.getpid()))
    with target(ALONE, tmp_path) as ended:
        ended.process.kill()
        until(lambda: not proc.identities([ended.process.pid]))
        with pytest.raises(UsageError, match="has ended; its parent has not reaped it"):
            observe.find(str(ended.process.pid))
    (tmp_path / "cgroup.procs").write_text("")
    with pytest.raises(UsageError, match="nothing runs there"):
        observe.find(str(tmp_path))


def test_a_name_is_all_processes_that_have_it_and_their_descendants(tmp_path: Path) -> None:
    name = f"wb-{os.getpid()}-with-a-long-name"
    program = tmp_path / name
    program.write_text(f"#!{sys.executable}\n{COUNTING}{PARENT}")
    program.chmod(0o755)
    (tmp_path / "count").touch()
    with Popen([program, tmp_path / "count"]) as process:
        try:
            until(lambda: (tmp_path / "count").stat().st_size)
            # Until its exec is complete, the child has the name of its parent.
            until(lambda: observe.find(name).roots == {process.pid})
            found = observe.find(name)
            assert found.pids == {process.pid, *proc.descendants(process.pid)}
        finally:
            proc.kill(lambda: [process.pid, *proc.descendants(process.pid)])


def test_counting_ends_with_the_process_that_is_named_whatever_its_children_do(
    tmp_path: Path,
) -> None:
    with target(PARENT, tmp_path) as sleeper:
        until(lambda: proc.descendants(sleeper.process.pid))
        found = observe.find(str(sleeper.process.pid))
        (child,) = found.pids - found.roots
        with ExitStack() as stack:
            observation = observe.Observation(found, stack)
            assert not observation.has_ended
            sleeper.process.kill()
            observe.wait(found.roots, 600.0)
            assert observation.has_ended
            assert observation.read().alive == {child}
        proc.kill(lambda: [child])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("999999999",), "There is no process 999999999"),
        (("1", "1"), "two that have no process in common"),
        (("1", "1", "1"), "two that have no process in common"),
        (("1", "--for", "0"), "'--for': 0 must be above zero"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(
    arguments: tuple[str, ...], says: str, said: Said
) -> None:
    code, out, err = said("look", *arguments)
    assert (code, out, says in err) == (2, "", True), err
