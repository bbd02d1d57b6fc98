"""What a process of a workload tells while it runs, and of how long items took."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import histogram

from waitbench.system.places import DATAFLOWS

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


@given(st.integers(0, 2**50))
def test_a_value_read_back_is_within_the_stated_error(value: int) -> None:
    recorded = histogram.Histogram()
    recorded.record(value)
    ((read, count),) = recorded.values()
    assert count == 1
    assert abs(read - value) <= histogram.RELATIVE_ERROR * value


@given(st.lists(st.integers(-5, 2**40), min_size=1))
def test_a_histogram_counts_everything_in_order_and_keeps_the_exact_maximum(
    values: list[int],
) -> None:
    recorded = histogram.Histogram()
    for value in values:
        recorded.record(value)
    read = recorded.values()
    assert sum(count for _, count in read) == len(values)
    assert [value for value, _ in read] == sorted({value for value, _ in read})
    assert recorded.maximum == max(0, *values)
