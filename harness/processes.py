"""Starting programs: an argument list, a time limit, a process group of their own, and nothing left behind."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil


@dataclass(frozen=True)
class Finished:
    """How a program ended. ``returncode`` is ``None`` when its time limit passed and it was killed."""

    returncode: int | None
    leftovers: int
    """Processes of its group that were still alive after it, and were killed."""

    @property
    def timed_out(self) -> bool:
        return self.returncode is None


def run(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    time_limit_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_start: Callable[[int], None] = lambda _group: None,
) -> Finished:
    """Runs a program to its end or its time limit, then makes sure that its whole process group is gone.

    The caller's thread blocks without polling, so that nothing of the harness runs meanwhile. Any exception (Ctrl-C among
    them) kills the group before it travels on. ``on_start`` is told the group as soon as there is one.
    """
    process = subprocess.Popen(
        list(arguments), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=env, cwd=cwd, start_new_session=True
    )
    try:
        on_start(process.pid)
        # Popen.wait with a timeout polls, up to 20 times a second; a thread blocked in waitpid does not.
        waiter = threading.Thread(target=process.wait, daemon=True)
        waiter.start()
        waiter.join(time_limit_s)
        timed_out = waiter.is_alive()
    finally:
        leftovers = kill_group(process.pid)
        process.wait()
    return Finished(None if timed_out else process.returncode, leftovers)


def kill_group(group: int) -> int:
    """Kills every process of a group; returns how many there were. Zombies do not count: they cost nothing."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return 0
    except PermissionError:
        pass
    members = [p for p in psutil.process_iter() if _is_alive_in(p, group)]
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return 0
    psutil.wait_procs(members, timeout=10)
    return len(members)


def _is_alive_in(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, or an empty string where there is none."""
    try:
        text = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
