"""Cleans up after a harness that was killed (``kill -9``).

Otherwise a spinning worker would burn a core for ever, and an installation go on writing. Every
process that the harness starts has a mark in its environment. A small program blocks in ``read`` on
a pipe from the harness, at no cost, and receives the folders of runs through it. At EOF the harness
is gone: the program kills all marked processes and their descendants, and removes the folders.
"""

import os
import secrets
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_MARK = "WAITBENCH_MARK"
_SWEEPS, _SWEEP_EVERY_S = 5, 0.05
"""Repeated because a program that has just been forked has no mark yet."""


class OrphanReaper:
    """The harness's end of the pipe; starts the program when there is something to reap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # Of fixed length: the size of the environment can change the speed of a program.
        self._mark = secrets.token_hex(8)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def mark(self) -> dict[str, str]:
        """Returns the environment variable that marks a process."""
        with self._lock:
            self._started()
        return {_MARK: self._mark}

    def remove_on_death(self, folder: Path) -> None:
        # The program may have been killed with the other children of the harness.
        with self._lock, suppress(OSError):
            pipe = self._started().stdin
            assert pipe is not None, "opened with a pipe"
            pipe.write(os.fsencode(folder.absolute()) + b"\0")
            pipe.flush()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, self._mark, str(os.getpgrp())],
                stdin=subprocess.PIPE,
                start_new_session=True,
            )
        return self._process


REAPER = OrphanReaper()


def _main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from waitbench.system import files, proc

    mark, group_of_harness = sys.argv[1].encode(), int(sys.argv[2])
    folders = sys.stdin.buffer.read().split(b"\0")[:-1]

    def marked() -> set[int]:
        pids = set[int]()
        for pid in proc.all_processes():
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    pids.add(pid)
        return pids.union(proc.descendants(*pids))

    for _ in range(_SWEEPS):
        proc.kill(marked, spared=group_of_harness)
        time.sleep(_SWEEP_EVERY_S)
    for folder in folders:
        files.remove(Path(os.fsdecode(folder)))


if __name__ == "__main__":
    _main()
