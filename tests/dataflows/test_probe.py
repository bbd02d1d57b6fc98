"""What a process of a workload tells while it runs, and of how long items took."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import histogram

from waitbench.system.paths import DATAFLOWS

POLLS = """
import threading
from support import probe
sources = [probe.source() for _ in range({sources})]
def work():
    probe.first_poll()
    probe.end_of_input()
threads = [threading.Thread(target=work) for _ in range(3)]
for one in threads: one.start()
for one in threads: one.join()
"""


def marks(folder: Path, workload: str, *, read: bool = True) -> list[str]:
    """What it writes to the pipe, if that is there and somebody reads it."""
    os.mkfifo(folder / "marks")
    pipe = os.open(folder / "marks", os.O_RDWR | os.O_NONBLOCK)
    if not read:
        os.close(pipe)
    environment = {**os.environ, "BENCH_PROBE_DIR": str(folder), "PYTHONPATH": str(DATAFLOWS)}
    subprocess.run([sys.executable, "-c", workload], env=environment, check=True, timeout=60)
    assert len(list(folder.glob("process-*.json"))) == 1
    if not read:
        return []
    try:
        return os.read(pipe, 4096).decode().split()
    except BlockingIOError:
        return []
    finally:
        os.close(pipe)


# What declares no source may end several times: the last one counts.
@pytest.mark.parametrize(("sources", "ends"), [(0, 3), (3, 1), (4, 0)])
def test_the_first_poll_and_the_end_of_the_last_source_are_told(
    sources: int, ends: int, tmp_path: Path
) -> None:
    told = marks(tmp_path, POLLS.format(sources=sources))
    assert (told[0], told.count("end")) == ("begin", ends)


def test_where_nobody_reads_the_marks_a_workload_runs_all_the_same(tmp_path: Path) -> None:
    assert marks(tmp_path, POLLS.format(sources=3), read=False) == []


@given(st.lists(st.integers(-5, 2**50), min_size=1))
def test_a_histogram_counts_everything_in_order_within_the_stated_error_and_keeps_the_maximum(
    values: list[int],
) -> None:
    recorded = histogram.Histogram()
    for value in values:
        recorded.record(value)
    read = [value for value, count in recorded.values() for _ in range(count)]
    assert read == sorted(read)
    for value, exact in zip(read, sorted(max(0, one) for one in values), strict=True):
        assert abs(value - exact) <= histogram.RELATIVE_ERROR * exact
    assert recorded.maximum == max(0, *values)
