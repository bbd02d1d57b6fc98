"""What a program and all that it starts use, counted from outside; and told to who asks."""

import os
import socket
import subprocess
import sys
import threading

import pytest

from tests.counting import counts_events
from waitbench.system.counters import (
    CONTEXT_SWITCHES,
    TASK_CLOCK,
    TreeCounters,
    answering,
    hits_of,
)
from waitbench.system.instruments import find_system_calls

COUNTER = find_system_calls()
needs_events = pytest.mark.skipif(not counts_events(), reason="the kernel does not count here")
CALLS = 3000

TREE = f"""
import os, sys, threading, time
def work():
    for _ in range({CALLS}): os.getppid()
    for _ in range(100): time.sleep(0.0001)
    end = time.thread_time() + 0.1
    while time.thread_time() < end: sum(range(100_000))
if sys.argv[1] == "thread":
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
elif sys.argv[1] == "daemon":
    gone, end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            work()
        os._exit(0)
    os.close(end)
    os.read(gone, 1)
elif sys.argv[1] == "child":
    if os.fork() == 0:
        work()
        os._exit(0)
    os.wait()
"""


def reading_of(what: str, **events: tuple[int, int]) -> dict[str, int]:
    """What is counted of a program that does it, from outside."""
    with TreeCounters(events) as opened:
        assert opened.reading() == dict.fromkeys(events, 0)
        subprocess.run([sys.executable, "-S", "-c", TREE, what], check=True, timeout=60)
        sum(os.getppid() > 0 for _ in range(CALLS))  # none of the program's
        return opened.reading()


@needs_events
@pytest.mark.parametrize("what", ["thread", "child", "daemon"])
def test_what_is_counted_is_that_of_all_descendants_and_nothing_of_the_observer(what: str) -> None:
    events = {"clock": TASK_CLOCK, "switches": CONTEXT_SWITCHES}
    if COUNTER.tracepoint is not None:
        events["calls"] = hits_of(COUNTER.tracepoint)
    nothing, seen = (reading_of(one, **events) for one in ("nothing", what))
    rises = {name: seen[name] - nothing[name] for name in events}
    assert rises["clock"] > 0.09e9
    assert rises["switches"] >= 90
    assert "calls" not in rises or CALLS + 100 <= rises["calls"] < CALLS + 1000


@needs_events
def test_a_counter_that_the_kernel_refuses_leaves_none_open() -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"\S"):
        TreeCounters({"clock": TASK_CLOCK, "nothing": hits_of(2**31)})
    assert os.listdir("/proc/self/fd") == before


def test_many_who_ask_at_once_are_all_answered() -> None:
    def ask() -> None:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect("\0" + name)
            found.append(asking.recv(32))

    found: list[bytes] = []
    with answering(lambda: 7) as name:
        asking = [threading.Thread(target=ask) for _ in range(50)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
    assert found == [b"7"] * 50
