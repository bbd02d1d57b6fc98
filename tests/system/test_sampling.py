"""The clock, sampled by the kernel: in which mode a process ran, and when."""

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from waitbench.system import sampling
from waitbench.system.instruments import find_sampler

SAMPLER = find_sampler()
needs_sampler = pytest.mark.skipif(not SAMPLER.allowed, reason=SAMPLER.reason)
PERIOD_NS = 97_003
IN_USER_MODE = "while time.process_time() < 0.2: sum(range(10_000))"
IN_THE_KERNEL = """
zeros = os.open("/dev/zero", os.O_RDONLY)
while time.process_time() < 0.2: os.read(zeros, 1 << 20)
"""


def sampled(code: str) -> tuple[Mapping[str, list[int]], sampling.Samples | None]:
    """The samples of a process that runs some code, and all that there are."""
    with sampling.ClockSampler(PERIOD_NS) as sampler:
        child = subprocess.Popen([sys.executable, "-S", "-c", "import os, time\n" + code])
        assert child.wait(60) == 0
    found = sampler.samples
    return (found or {}).get(child.pid, {"user": [], "system": []}), found


@needs_sampler
def test_work_in_user_mode_and_in_the_kernel_are_told_apart(tmp_path: Path) -> None:
    began = tmp_path / "began"
    # What it takes to start a process and to end it is of both modes.
    timed = f"print(time.monotonic_ns(), file=open({str(began)!r}, 'w'), flush=True)\n"
    for code, mode, other in ((IN_USER_MODE, "user", "system"), (IN_THE_KERNEL, "system", "user")):
        samples, _ = sampled(timed + code + "\n" + timed.replace("'w'", "'a'"))
        first, last = (int(line) for line in began.read_text().split())
        counts = {name: sum(first < at < last for at in times) for name, times in samples.items()}
        assert counts[mode] > 4 * counts[other]


@needs_sampler
def test_samples_come_once_a_period_of_cpu_time_and_tell_when() -> None:
    before = time.monotonic_ns()
    samples, _ = sampled(IN_USER_MODE)
    after = time.monotonic_ns()
    times = samples["user"] + samples["system"]
    assert all(before <= at <= after for at in times)
    # 0.2 s of CPU, and what it takes to start and end; a few are lost where the process waits.
    assert 0.1e9 < len(times) * PERIOD_NS < 0.6e9


@needs_sampler
def test_a_ring_that_is_full_makes_all_samples_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_MOST_PAGES", 2 * len(sampling.online_cpus()))
    _, found = sampled(IN_USER_MODE)
    assert found is None


@needs_sampler
def test_other_records_than_samples_make_all_samples_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sampling, "_SAMPLE", 2)  # as if each were a report of lost ones
    _, found = sampled(IN_USER_MODE)
    assert found is None


def test_a_user_who_may_lock_less_memory_has_smaller_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def map_little(_descriptor: int, length: int) -> bytearray:
        asked.append(length)
        if length > 65 * sampling._PAGE:
            raise PermissionError
        return bytearray(length)

    monkeypatch.setattr("waitbench.system.sampling.mmap.mmap", map_little)
    _, pages = sampling._map(os.dup(0), 1024)
    assert pages == 64
    monkeypatch.setattr(sampling, "_FEWEST_PAGES", 128)
    with pytest.raises(PermissionError):
        sampling._map(os.dup(0), 1024)


@pytest.mark.parametrize("said", ["0", "0-1", "0-3,8,10-11"])
def test_the_cpus_that_are_on_are_read_as_the_kernel_writes_them(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = {"0": [0], "0-1": [0, 1], "0-3,8,10-11": [0, 1, 2, 3, 8, 10, 11]}[said]
    (tmp_path / "online").write_text(said + "\n")
    monkeypatch.setattr(sampling, "_ONLINE", tmp_path / "online")
    assert sampling.online_cpus() == expected


@needs_sampler
def test_the_thread_that_samples_is_not_sampled_itself_unless_it_asks() -> None:
    for asked in (False, True):
        with sampling.ClockSampler(PERIOD_NS) as sampler:
            if asked:
                sampler.sample_this_thread()
            end = time.thread_time() + 0.02
            while time.thread_time() < end:
                pass
        assert bool(sampler.samples) == asked


def test_a_sampler_that_the_kernel_refuses_half_way_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = [os.dup(0)]

    def open_one(*_arguments: object, **_options: object) -> int:
        if not opened:
            raise OSError(13, "Permission denied")
        return opened.pop()

    descriptor = opened[0]
    monkeypatch.setattr(sampling, "open_event", open_one)
    monkeypatch.setattr(sampling, "online_cpus", lambda: [0, 1])
    monkeypatch.setattr(sampling, "_map", lambda _descriptor, pages: (mmap.mmap(-1, 1), pages))
    with pytest.raises(OSError, match="Permission denied"):
        sampling.ClockSampler(PERIOD_NS).__enter__()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
