"""Starting programs: argument lists, time limits, process groups, and nothing left behind."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from waitbench.model.errors import HarnessError

_STEP_TIME_LIMIT_S = 3600
_GONE_WITHIN_S = 10

_live: set[int] = set()
"""Process groups that ``run`` has started and not yet seen end."""


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    returncode: int | None
    """``None`` when its time limit passed and it was killed."""
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
    """Runs a program to its end or its time limit; then its whole process group is gone.

    The caller's thread blocks without polling, so that nothing of the harness runs meanwhile. Any
    exception (Ctrl-C among them) kills the group before it travels on. ``on_start`` is told the
    group as soon as there is one.
    """
    process = subprocess.Popen(
        list(arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    _live.add(process.pid)
    try:
        on_start(process.pid)
        # Popen.wait with a timeout polls, up to 20 times a second; a thread in waitpid does not.
        waiter = threading.Thread(target=process.wait, daemon=True)
        waiter.start()
        waiter.join(time_limit_s)
        timed_out = waiter.is_alive()
    finally:
        leftovers = kill_group(process.pid)
        process.wait()
        _live.discard(process.pid)
    return Finished(None if timed_out else process.returncode, leftovers)


def run_logged(
    arguments: Sequence[str],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    hint: Callable[[Path], str] = lambda _log: "",
) -> None:
    """Runs one step of setting something up, its output appended to a log.

    Raises ``HarnessError`` with the end of that log, where it is, and what ``hint`` makes of it.
    """
    with log.open("ab") as file:
        finished = run(
            arguments, stdout=file, stderr=file, time_limit_s=_STEP_TIME_LIMIT_S, env=env, cwd=cwd
        )
    if finished.returncode != 0:
        reason = (
            f"still running after {_STEP_TIME_LIMIT_S} s"
            if finished.timed_out
            else f"exit {finished.returncode}"
        )
        program = Path(arguments[0]).name
        raise HarnessError(
            f"{program} failed ({reason}). The end of {log}:\n{tail(log)}{hint(log)}"
        )


def kill_all() -> None:
    """Kills everything that ``run`` has started and that still runs, from whichever thread."""
    for group in list(_live):
        kill_group(group)


def kill_group(group: int) -> int:
    """Kills every process of a group; returns how many there were, without zombies."""
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
    # Not psutil's own wait: it would reap our children, and take their exit codes from others.
    end = time.monotonic() + _GONE_WITHIN_S
    while any(_is_alive_in(member, group) for member in members) and time.monotonic() < end:
        time.sleep(0.005)
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
