"""Counters that are opened together, and readings that are told to who asks."""

import os

import pytest

from tests.counting import needs_events
from waitbench.system.counters import TASK_CLOCK, TRACEPOINT, TreeCounters


@needs_events
def test_a_counter_that_the_kernel_refuses_leaves_none_open() -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"\S"):
        TreeCounters({"clock": TASK_CLOCK, "nothing": (TRACEPOINT, 2**31)}, os.getpid())
    assert os.listdir("/proc/self/fd") == before
