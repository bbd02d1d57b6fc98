"""Ends what is in flight if the harness dies without a chance to (kill -9).

Else a spinning worker would burn a core for ever, and an installation go on writing. Whatever the
harness starts has a mark in its environment. A small program of its own is blocked in ``read`` on a
pipe from the harness, so it costs nothing while it waits; what it reads are folders of runs. The
end of the pipe means that the harness is gone. Then whatever has the mark is killed, with all that
it has started, whatever session or variables that has, and the folders are removed.
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
"""The environment variable that has the mark."""
_LOOKS, _LOOKS_EVERY_S = 5, 0.05
"""How often it is looked: a program that has just been started has no mark yet."""


class Guard:
    """The harness's end of the pipe. The program starts when there is something to guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # Of one length: how large an environment is can change how fast a program runs.
        self._mark = secrets.token_hex(8)

    @property
    def number(self) -> int | None:
        """The program's process, if it runs."""
        return self._process.pid if self._process else None

    def mark(self) -> dict[str, str]:
        """The environment variable of what is to end with the harness."""
        with self._lock:
            self._started()
        return {_MARK: self._mark}

    def clear(self, folder: Path) -> None:
        """Says which folder is to go with the harness."""
        # The program may have been killed with everything else that the harness started.
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


GUARD = Guard()
"""That of this process."""


def _main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from waitbench.system import files, trees

    mark, group_of_harness = sys.argv[1].encode(), int(sys.argv[2])
    folders = sys.stdin.buffer.read().split(b"\0")[:-1]

    def marked() -> set[int]:
        found = set[int]()
        for one in trees.all_processes():
            with suppress(OSError):
                if mark in Path(f"/proc/{one}/environ").read_bytes():
                    found.add(one)
        return found.union(trees.below(*found))

    for _ in range(_LOOKS):
        trees.kill(marked, spared=group_of_harness)
        time.sleep(_LOOKS_EVERY_S)
    for folder in folders:
        files.remove(Path(os.fsdecode(folder)))


if __name__ == "__main__":
    _main()
