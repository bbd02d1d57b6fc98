"""Kills what is in flight if the harness dies without a chance to (kill -9).

Else a spinning worker would burn a core for ever, and an installation go on writing. A small
program of its own, blocked in ``read`` on a pipe from the harness, so it costs nothing while it
waits. Each line is a process group that begins, ``+4711``, or has ended, ``-4711``, or a folder
that has folders of runs, ``/…``; the end of the pipe means that the harness is gone. What
the processes of a group have started ends with it, whatever session it has moved to. Without a line
``.`` before it, it was killed, maybe between the start of a program and the line that says so: then
whatever knows a run's folder is looked for, and these folders are removed.
"""

import atexit
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

_IN_ORDER = ".\n"
_MOST_GENERATIONS = 20
_A_MOMENT_S = 0.05
"""How often to look for what was started while the others were being killed."""
LOCK_SUFFIX = ".lock"
"""What follows the name of a run's folder in that of its lock: system/locks.py."""


class Guard:
    """The harness's end of the pipe. The program starts when there is something to guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._parents: set[str] = set()

    @property
    def number(self) -> int | None:
        """The program's process, if it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts the program, unless it runs."""
        with self._lock:
            self._started()

    def watch(self, group: int) -> None:
        """Says that a process group begins."""
        self._say(f"+{group}\n")

    def release(self, group: int) -> None:
        """Says that a process group has ended."""
        self._say(f"-{group}\n")

    def clear_in(self, parent: Path) -> None:
        """Says where folders of this process are, which are to go with it."""
        path = str(parent.absolute())
        if "\n" not in path and path not in self._parents:
            self._parents.add(path)
            self._say(f"{path}\n")

    def close(self) -> None:
        """Ends the program; what it still watches ends with it."""
        with self._lock, suppress(OSError):
            if self._process is not None:
                pipe = self._process.stdin
                if pipe is not None and not pipe.closed:
                    pipe.write(_IN_ORDER)
                self._process.communicate()
                self._process = None
                self._parents.clear()

    def _say(self, line: str) -> None:
        # It may have been killed with everything else that the harness started.
        with self._lock, suppress(OSError):
            pipe = self._started().stdin
            assert pipe is not None, "opened with a pipe"
            pipe.write(line)
            pipe.flush()

    def _started(self) -> "subprocess.Popen[str]":
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(os.getpid())],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            atexit.register(self.close)
        return self._process


GUARD = Guard()
"""That of this process."""


def _main() -> None:
    groups: set[int] = set()
    parents: set[Path] = set()
    is_in_order = False
    for line in sys.stdin:
        if line == _IN_ORDER:
            is_in_order = True
        elif line.startswith(os.sep):
            parents.add(Path(line[:-1]))
        else:
            (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    _kill_trees(groups)
    if is_in_order and not groups:
        return
    harness = int(sys.argv[1])
    for _ in range(_MOST_GENERATIONS):
        left = _left(harness)
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if not left:
            break
    for _ in range(_MOST_GENERATIONS):
        # What was killed may take a moment to end, and write until then.
        if not [parent for parent in parents if _clear(parent, harness)]:
            return
        time.sleep(_A_MOMENT_S)


def _kill_trees(groups: Set[int]) -> None:
    """Kills process groups, and first all that they have started.

    They are stopped meanwhile: who adopts orphans goes on to do so, and starts nothing more.
    """
    _signal_groups(groups, signal.SIGSTOP)
    for _ in range(_MOST_GENERATIONS):
        below = _started_by(groups)
        if not below:
            break
        for process in below:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_A_MOMENT_S)
    _signal_groups(groups, signal.SIGKILL)


def _signal_groups(groups: Set[int], number: int) -> None:
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, number)


def _started_by(groups: Set[int]) -> set[int]:
    """Processes in other groups that descend from members of these, without zombies (Linux)."""
    parents: dict[int, int] = {}
    members, zombies = set(), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            process, state, parent, group = int(folder.name), fields[0], *map(int, fields[1:3])
            parents[process] = parent
            if group in groups:
                members.add(process)
            if state == "Z":
                zombies.add(process)
    found: set[int] = set()
    generation = members
    while generation:
        generation = {one for one, parent in parents.items() if parent in generation} - found
        found |= generation
    return found - members - zombies


def _clear(parent: Path, harness: int) -> bool:
    """Removes the folders that were the harness's own; whether there is one left."""
    for lock in parent.glob(f"{harness}-*{LOCK_SUFFIX}"):
        # Another container may have had the same number: its lock is held.
        with suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            if not lock.with_suffix("").exists():
                lock.unlink(missing_ok=True)
    return any(parent.glob(f"{harness}-*{LOCK_SUFFIX}"))


def _left(harness: int) -> list[int]:
    """Processes that left a run's group: its folder, which all of them know, names the harness."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"/runs/%d-" % harness in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    _main()
