"""Following workers from CPU to CPU."""

import os
import subprocess
import sys
import threading

import pytest

from waitbench.system import pace
from waitbench.system.pace import PaceFollower

CHAIN = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def follow(*command: str) -> dict[str, float]:
    """What is known after a worker has ended that a launcher started, which a program started."""
    launcher = [sys.executable, "-I", "-S", "-c", CHAIN]
    follower = PaceFollower()
    with subprocess.Popen([*launcher, *launcher, *command]) as program:
        follower.begin(program.pid)
        program.wait()
    follower.end()
    return follower.observed()


def test_a_worker_is_followed_until_it_ends() -> None:
    allowed, running = os.sched_getaffinity(0), threading.active_count()
    found = follow("sleep", "0.5")
    assert 1e-8 < found["machine_pace"] < 1e-2
    assert os.sched_getaffinity(0) == allowed, "only the thread moves"
    assert threading.active_count() == running


def test_a_worker_of_a_moment_tells_nothing() -> None:
    assert follow("true") == {}


def test_nothing_is_known_of_what_never_began_or_is_gone() -> None:
    follower = PaceFollower()
    follower.end()
    assert follower.observed() == {}
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    follower = PaceFollower()
    follower.begin(gone.pid)
    follower.end()
    assert follower.observed() == {}


def test_where_no_thread_can_choose_its_cpu_nothing_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_setaffinity")
    assert follow("sleep", "0.3") == {}


def test_a_cpu_that_may_not_be_used_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_cpu_of", lambda _process: 4095)
    assert follow("sleep", "0.3") == {}


def test_the_name_of_a_process_does_not_hide_its_cpu() -> None:
    assert pace._cpu_of(os.getpid()) in os.sched_getaffinity(0)
    naming = "from pathlib import Path; Path('/proc/self/comm').write_text(') 1 2'); input()"
    with subprocess.Popen(
        [sys.executable, "-c", naming], stdin=subprocess.PIPE, text=True
    ) as named:
        try:
            assert pace._cpu_of(named.pid) in os.sched_getaffinity(0)
        finally:
            named.communicate("\n")
