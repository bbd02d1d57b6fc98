"""Running code that may do anything: what leaves its group is found, its output has an end."""

import ctypes
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import psutil

from waitbench.system.guard import GUARD
from waitbench.system.processes import GONE_WITHIN_S, Finished, kill_group, run

MOST_OUTPUT = 16 * 2**20
"""What such a program may write to each of its outputs, in bytes."""

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """For the time of the block, this process inherits what its descendants leave behind (Linux).

    So that ``run_alone`` finds programs that left their group, and what they used.
    """
    _set_adopting(1)
    try:
        yield
    finally:
        _set_adopting(0)


def _set_adopting(value: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)


def run_alone(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes],
    stderr: IO[bytes],
    time_limit_s: float,
    env: Mapping[str, str],
    cwd: Path,
    on_start: Callable[[int], None],
) -> Finished:
    """What ``run`` does, for code that may do anything. Nothing else must be started meanwhile.

    Programs that left their group are found, and killed; output has an end.
    """
    GUARD.start()
    before = {child.pid for child in psutil.Process().children()}
    too_much = threading.Event()
    group: list[int] = []

    def started(number: int) -> None:
        group.append(number)
        on_start(number)

    def stop() -> None:
        too_much.set()
        for number in group:
            kill_group(number)

    with _limited(stdout, stop) as out, _limited(stderr, stop) as errors:
        try:
            finished = run(
                arguments,
                stdout=out,
                stderr=errors,
                time_limit_s=time_limit_s,
                env=env,
                cwd=cwd,
                on_start=started,
            )
        finally:
            strays, cpu_s = _end_strays(before)
    return replace(finished, strays=strays, strays_cpu_s=cpu_s, wrote_too_much=too_much.is_set())


@contextmanager
def _limited(target: IO[bytes], stop: Callable[[], None]) -> Iterator[int]:
    """Where a program may write; what it writes goes to ``target``, up to a limit.

    A thread blocks until there is something to copy: a silent program costs nothing.
    """
    reading, writing = os.pipe()

    def copy() -> None:
        left = MOST_OUTPUT
        while left > 0 and (data := os.read(reading, 1 << 16)):
            left -= len(data)
            with suppress(OSError):  # a full disk: what is lost is output, no figure
                target.write(data)
                target.flush()
        if left <= 0:
            stop()

    copier = threading.Thread(target=copy, daemon=True)
    copier.start()
    try:
        yield writing
    finally:
        os.close(writing)
        copier.join(GONE_WITHIN_S)
        with suppress(OSError):
            target.flush()
        os.close(reading)


def _end_strays(before: Collection[int]) -> tuple[int, float]:
    """Ends what this process has inherited since; how many they were, and what they have used.

    What a stray has started is inherited when the stray is killed, and ended in its turn: waiting
    for the stray alone would leave it to the next run. Only what was there at the first look
    counts, for what a stray goes on starting meanwhile is as many as the clock would have it.
    """
    first: int | None = None
    cpu_s = 0.0
    while strays := [one for one in psutil.Process().children() if one.pid not in before]:
        first = len(strays) if first is None else first
        for stray in strays:
            with suppress(psutil.Error):
                stray.kill()
        for stray in strays:
            with suppress(ChildProcessError):
                _, _, used = os.wait4(stray.pid, 0)
                cpu_s += used.ru_utime + used.ru_stime
    return first or 0, cpu_s
