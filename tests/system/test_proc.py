"""The descendants of a process, as /proc has them."""

import os
from pathlib import Path

import psutil
import pytest

from tests.running import line_of, python
from tests.waiting import until
from waitbench.system import proc

PROGRAM = """
import os, sys, time
held = bytearray(40 * 2**20)
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild == 0: time.sleep(600)
    ended = os.fork()
    if ended == 0: os._exit(0)
    print(os.getpid(), grandchild, ended, flush=True)
    time.sleep(600)
os.wait()
"""
"""Has a child with two children, one of which has ended."""


def test_descendants_are_found_behind_their_parents_and_the_ended_are_told_apart() -> None:
    with python(PROGRAM) as process:
        child, grandchild, ended = map(int, line_of(process).split())
        try:
            pids = proc.descendants(process.pid)
            assert pids[0] == child
            assert set(pids[1:]) == {grandchild, ended}
            others = {(grandchild, proc.all_processes()[grandchild]), (ended, 1)}
            assert proc.descendants(process.pid, others=others) == [child, ended]
            running = [psutil.Process(pid) for pid in (child, grandchild)]
            until(lambda: psutil.Process(ended).status() == psutil.STATUS_ZOMBIE)
            assert {pid for pid, _ in proc.identities(pids)} == {child, grandchild}
            assert proc.usage_by_thread(pids).keys() >= {(child, child), (grandchild, grandchild)}
            memory = proc.memory(pids)
            assert memory is not None
            of_psutil = sum(process.memory_full_info().pss for process in running)
            assert abs(memory.proportional - of_psutil) < 2**20
            assert 26 * 2**20 < memory.allocated < memory.proportional, "two of three have it"
            assert 0 < proc.cpu_s([process.pid]) < 60
        finally:
            for pid in (grandchild, child):
                os.kill(pid, 9)
    assert proc.descendants(process.pid) == []
    assert proc.identities([process.pid]) == set()
    assert (proc.cpu_s([process.pid]), proc.system_s([process.pid])) == (0.0, 0.0)


def test_a_process_that_one_search_missed_is_killed_too() -> None:
    sleeps = "import time; time.sleep(600)"
    with python(sleeps) as first, python(sleeps) as second:
        pids = [first.pid, second.pid]
        first.kill()
        until(lambda: proc.identities(pids[:1]) == set())
        # Two searches find the zombie alone: the other was forked while they read /proc.
        searches = iter([pids[:1], pids[:1]])
        proc.kill(lambda: next(searches, pids))
        assert proc.identities(pids) == set()


def test_memory_is_unknown_where_there_is_none_to_read() -> None:
    assert proc.memory([]) is proc.memory([2**22 + 1]) is None
    assert proc.memory([os.getpid()]) is not None


PREEMPTED = """
import os, time
from pathlib import Path
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def preempted():
    return int(Path("/proc/self/status").read_text().split()[-1])
if (child := os.fork()) == 0:
    while not preempted(): pass
    os._exit(0)
while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None: pass
print(child, flush=True)
time.sleep(600)
"""


ENDS = """
import ctypes, os
if os.geteuid() == 0:
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its files in /proc are its user's
held = b"x" * (300 * 2**20)
print(os.getpid(), flush=True)
input()
os._exit(0)
"""
"""Gives back so much memory at its end that it is neither alive nor a zombie for a while."""


def test_a_process_that_ends_is_not_a_program_that_its_user_may_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root owns the files of all three: if they were mistaken, an end would end all counting."""
    with python(ENDS) as process:
        pid = int(line_of(process))
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
        assert not proc.is_protected(pid)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        answers = []
        while proc.identities([pid]):
            answers.append(proc.is_protected(pid))
        assert Path(f"/proc/{pid}/stat").stat().st_uid == 0, "a zombie"
        assert answers
        assert not any(answers), f"{sum(answers)} of {len(answers)}"
        assert not proc.is_protected(pid)


def test_a_zombie_was_preempted_never() -> None:
    """The kernel's counter of a thread is gone before the thread is, which may be preempted yet."""
    with python(PREEMPTED) as process:
        child = int(line_of(process))
        assert proc.usage_by_thread([child])[child, child].preempted == 0


def test_memory_has_swap_and_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"Pss": 100, "Pss_File": 40, "SwapPss": 10, "Private_Hugetlb": 2048}
    text = "".join(f"{name}: {size} kB\n" for name, size in sizes.items())
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    memory = proc.memory([1])
    assert memory is not None
    assert (memory.proportional, memory.allocated) == (2158 * 1024, 2118 * 1024)
