"""Counters that are opened together, and readings that are told to who asks."""

import os
import socket
import threading

import pytest

from tests.counting import needs_events
from waitbench.system.counters import TASK_CLOCK, TreeCounters, answering, hits_of


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
