"""Kills the run in flight if the harness dies without a chance to (kill -9).

Else a spinning worker would burn a core for ever. A small program of its own, blocked in ``read``
on a pipe from the harness, so it costs nothing while it waits. Each line is the process group of
the run in flight, or 0 for none; the end of the pipe means that the harness is gone.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any


class Guard:
    """The harness's end of the pipe."""

    def __enter__(self) -> "Guard":
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def watch(self, group: int) -> None:
        """Says which process group is in flight; 0 for none."""
        assert self._process.stdin is not None, "opened with a pipe"
        self._process.stdin.write(f"{group}\n")
        self._process.stdin.flush()

    def __exit__(self, *_error: Any) -> None:
        self.watch(0)
        self._process.communicate()


def _main() -> None:
    group = 0
    for line in sys.stdin:
        group = int(line)
    if group:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    _main()
