"""Running code that may do anything: what leaves its group is found, its output has an end."""

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
from waitbench.system.trees import adopt_orphans

MOST_OUTPUT = 16 * 2**20
"""What such a program may write to each of its outputs, in bytes."""


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """For the time of the block, this process inherits what its descendants leave behind (Linux).

    So that ``run_alone`` finds programs that left their group.
    """
    adopt_orphans()
    try:
        yield
    finally:
        adopt_orphans(does=False)


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
            strays = _end_strays(before)
    return replace(finished, strays=strays, wrote_too_much=too_much.is_set())


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


def _end_strays(before: Collection[int]) -> int:
    """Ends what this process has inherited since; how many they were.

    What a stray has started is inherited when the stray is killed, and ended in its turn: waiting
    for the stray alone would leave it to the next run. Only what was there at the first look
    counts, for what a stray goes on starting meanwhile is as many as the clock would have it.
    """
    first: int | None = None
    while strays := [one for one in psutil.Process().children() if one.pid not in before]:
        first = len(strays) if first is None else first
        for stray in strays:
            with suppress(psutil.Error):
                stray.kill()
        for stray in strays:
            with suppress(ChildProcessError):
                os.waitpid(stray.pid, 0)
    return first or 0
