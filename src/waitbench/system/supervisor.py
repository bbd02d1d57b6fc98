"""Ends all processes that waitbench started when it ends, even after ``kill -9`` of its group.

    the user's process    passes signals on; exits with the code of the harness
    └─ supervisor         in a session of its own; limits the time of an interrupted harness
       └─ harness         waitbench itself, in the user's process group
          └─ builds, services, runs

The upper two adopt orphans, and sleep without polling. When its child ends, each kills its other
descendants and removes the temporary folders; so does the supervisor when the user's process ends.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn

from waitbench.model.errors import ExitCode
from waitbench.system import files, proc
from waitbench.system.paths import Cache

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PREFIX = os.urandom(8).hex()
"""The beginning of the names of temporary folders, which are in folders of the cache."""
parents: list[int] = []
"""In the harness: the PIDs of the user's process and of the supervisor."""
_PARENT_GONE = signal.SIGUSR1
_KILL_AFTER_S = 0.5
_EXIT_AFTER_S = 3.0
_KILLED_WITHIN_S = 1.0
_REPEAT_EVERY_S, _HOUR_S = 0.05, 3600.0
"""Signals are repeated: one that arrives just before the harness blocks would not wake it."""

_React = Callable[[int, float], ExitCode | None]
"""Takes a signal and the seconds since the first one; returns an exit code to end immediately."""


def start() -> None:
    """Returns in a new process, the harness. The calling process exits with its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    group = os.getpgrp()
    parents.append(os.getpid())
    if supervisor := os.fork():
        _end_with(supervisor, lambda number, _s: os.kill(supervisor, number), group)
    parents.append(os.getpid())
    if harness := os.fork():
        os.setsid()
        proc.signal_at_end_of_parent(_PARENT_GONE)
        if os.getppid() != parents[0]:
            os.kill(os.getpid(), _PARENT_GONE)
        _end_with(harness, partial(_limit, harness, group), group)
    proc.adopt_orphans()


def _end_with(child: int, react: _React, spared_group: int) -> NoReturn:
    """Waits for a child, kills its descendants, and ends this process with the child's code."""
    code: int = ExitCode.FAILED
    try:
        proc.adopt_orphans()
        code = _wait(child, react)
        proc.kill(lambda: proc.descendants(os.getpid()), spared=spared_group)
        for folder in Cache().root.glob(f"*/{PREFIX}-*"):
            files.remove(folder)
    finally:
        os._exit(code)


def _wait(child: int, react: _React) -> int:
    """Waits for a child. After a signal, calls ``react`` again and again until the child ends."""
    # nohup, and shells for background jobs, make programs ignore signals: these stay ignored.
    handled = {number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}
    watched = handled | {signal.SIGCHLD, _PARENT_GONE}
    signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    number, first_s = 0, 0.0
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if pid:  # an orphan
            continue
        event = signal.sigtimedwait(watched, _REPEAT_EVERY_S if number else _HOUR_S)
        if event is not None and event.si_signo != signal.SIGCHLD:
            number, first_s = event.si_signo, first_s or time.monotonic()
        forced_code = react(number, time.monotonic() - first_s) if number else None
        if forced_code is not None:
            return forced_code


def _limit(harness: int, group: int, number: int, passed_s: float) -> ExitCode | None:
    """Passes a signal on to the harness; kills its children after 0.5 s, and gives up after 3 s."""
    if number == _PARENT_GONE:
        return ExitCode.FAILED
    if passed_s > _EXIT_AFTER_S:
        # A full pipe that nobody reads must not block the exit.
        with suppress(OSError):
            if select.select([], [2], [], 0)[1]:
                os.write(2, b"\ninterrupted at once.\n")
        return ExitCode.INTERRUPTED
    if passed_s > _KILL_AFTER_S:
        proc.kill(lambda: proc.descendants(harness), _KILLED_WITHIN_S, group)
    os.kill(harness, number)
    return None
