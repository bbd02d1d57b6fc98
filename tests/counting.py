"""What the kernel counts on this machine."""

import os

import pytest

from waitbench.system.counters import CONTEXT_SWITCHES, TASK_CLOCK, TreeCounters


def counts_events() -> bool:
    """Whether it counts the CPU time and the switches of a process and its descendants."""
    try:
        TreeCounters({"clock": TASK_CLOCK, "switches": CONTEXT_SWITCHES}, os.getpid()).close()
    except OSError:
        return False
    return True


needs_events = pytest.mark.skipif(not counts_events(), reason="the kernel does not count here")
