"""A command and all that it starts: counted by the kernel from outside, waited for, and killed."""

import math
import os
import resource
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import psutil

from waitbench.system import counters, trees

_KILLED_WITHIN_S = 5.0
_CHILD = (signal.SIGCHLD,)
_PASSED_ON = (
    signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Command:
    """What is started."""

    program: str
    words: Sequence[str]
    variables: Mapping[str, str]
    folder: Path
    """Where it runs."""
    stop_group: bool = False
    """Whether its signals go to its whole process group."""

    def become(self) -> NoReturn:
        """Turns this process into it, in a session of its own: it may signal its whole group."""
        try:
            os.setsid()
            os.chdir(self.folder)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.execve(self.program, list(self.words), dict(self.variables))  # noqa: S606
        except OSError as error:
            os.write(2, f"{self.program} does not start: {error.strerror}\n".encode())
        os._exit(127)


class CountedTree:
    """One command and its descendants. This process adopts what these leave behind."""

    def __init__(self, tracepoint: int | None) -> None:
        self.tracepoint = tracepoint
        """What system calls are counted by, if they are."""
        self.pid = 0
        self.ended: dict[int, int] = {}
        """The exit codes of what has been waited for, by process."""
        self.beside: set[int] = set()
        """Children of this process that are not of the command."""
        self._used: list[resource.struct_rusage] = []
        """What each process of the command has used that was waited for here, with its own."""
        self._stop_group = False
        self._preempted: dict[int, int] = {}
        """How often each thread had to leave its CPU to others, when it was last looked at."""
        self.events: counters.TreeCounters | None = None
        """``None`` where the kernel does not count for this user."""
        self.calls: counters.TreeCounters | None = None

    def start(self, commands: Sequence[Command], *, until_exit: bool = False) -> None:
        """Starts a command, or several below one process; counted from before they begin.

        That process sleeps, passes signals on, and ends as soon as any of them ends by itself; with
        ``until_exit`` when all have, or one has failed. What it uses to start them is counted with
        them.
        """
        self._stop_group = commands[0].stop_group
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            # Not before it is counted.
            os.close(writing)
            os.read(reading, 1)
            if len(commands) > 1:
                _become_all(commands, until_exit=until_exit)
            commands[0].become()
        os.close(reading)
        events = {"cpu": counters.TASK_CLOCK, "switches": counters.CONTEXT_SWITCHES}
        several = len(commands) > 1
        with suppress(OSError):
            self.events = counters.TreeCounters(events, self.pid, at_once=several)
        if self.tracepoint is not None and self.events is not None:
            with suppress(OSError):
                self.calls = counters.TreeCounters(
                    {"system_calls": counters.hits_of(self.tracepoint)}, self.pid, at_once=several
                )
        os.write(writing, b"x")
        os.close(writing)

    def signal(self, number: int) -> None:
        """Sends the command a signal, or its whole group where that is asked for."""
        _kill([self.pid], number, self._stop_group)

    def reading(self) -> dict[str, Any]:
        """CPU time in seconds, switches and, where they are counted, system calls so far.

        The kernel's counter has all switches. Those of a thread that was preempted, which is no
        wake-up of it, are known while it lives.
        """
        now_ns = time.monotonic_ns()
        reading: dict[str, Any] = {"monotonic_ns": now_ns, "system_s": 0.0}
        if self.events is not None:
            counted = self.events.reading()
            reading |= {"user_s": counted["cpu"] / 1e9, "switches": counted["switches"]}
        else:
            reading["user_s"] = self.cpu_s()
        seen = trees.switches(self.processes())
        for thread, (_, preempted) in seen.items():
            self._preempted[thread] = max(preempted, self._preempted.get(thread, 0))
        if self.events is not None:
            preempted = sum(self._preempted.values())
            reading["switches_voluntary"] = reading["switches"] - preempted
        else:
            ended = sum(one.ru_nvcsw for one in self._used)
            reading["switches_voluntary"] = ended + sum(asleep for asleep, _ in seen.values())
        if self.calls is not None:
            reading |= self.calls.reading()
        return reading

    def cpu_s(self) -> float:
        """CPU time so far, of what lives and of what has ended."""
        if self.events is not None:
            return self.events.reading("cpu")["cpu"] / 1e9
        # A child that nobody has waited for, as its parent ignores its end, counts nowhere.
        ended_s = sum(one.ru_utime + one.ru_stime for one in self._used)
        return ended_s + trees.cpu_s(self.processes())

    def usage(self) -> dict[str, float]:
        """What all of it has used, at its end; children that nobody waited for switched nowhere."""
        user_s, system_s = (
            sum(getattr(one, f"ru_{name}") for one in self._used) for name in ("utime", "stime")
        )
        # The kernel's counter has all; its parts are those of what was waited for.
        share = system_s / (user_s + system_s) if user_s + system_s else 0.0
        total_s = self.cpu_s()
        return {
            "user_s": (1 - share) * total_s,
            "system_s": share * total_s,
            "waited_s": user_s + system_s,
            "switches_voluntary": sum(one.ru_nvcsw for one in self._used),
            "switches_involuntary": sum(one.ru_nivcsw for one in self._used),
        }

    def switches(self) -> int:
        """The switches so far, where the kernel counts."""
        assert self.events is not None, "asked where the kernel counts"
        return self.events.reading("switches")["switches"]

    def reap(self) -> bool:
        """Waits for what has ended; whether anything is left, adopted or started here."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.ended[pid] = os.waitstatus_to_exitcode(status)
            if pid not in self.beside:
                self._used.append(used)

    def processes(self) -> list[psutil.Process]:
        """All that was started here and has not been waited for, adopted or not."""
        return trees.below(os.getpid())

    def outlast(self, within_s: float) -> int:
        """Blocks until the command has ended, and what it started; how much of that was killed.

        That is given so many seconds more.
        """
        end = math.inf
        signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD)
        try:
            while self.reap():
                if self.pid in self.ended:
                    end = min(end, time.monotonic() + within_s)
                if time.monotonic() > end:
                    return self.kill_all()
                signal.sigtimedwait(_CHILD, min(1.0, max(0.0, end - time.monotonic())))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD)
        return 0

    def others(self) -> set[int]:
        """All that runs of what was started here."""
        return {pid for pid, _ in trees.identities(self.processes())}

    def kill_all(self) -> int:
        """Kills what is left of all that was started; how many these were."""
        killed: set[int] = set()
        end = time.monotonic() + _KILLED_WITHIN_S
        while self.reap() and time.monotonic() < end:
            left = self.others()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed |= left
            time.sleep(0.005)
        return len(killed)


def _become_all(commands: Sequence[Command], *, until_exit: bool) -> NoReturn:
    """Starts each as a child of this process, and waits for them without a wake-up."""
    os.setsid()
    children: list[int] = []
    was_told = False

    def pass_on(number: int, _frame: object) -> None:
        nonlocal was_told
        was_told = True
        _kill(children, number, commands[0].stop_group)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    for command in commands:
        child = os.fork()
        if child == 0:
            command.become()
        children.append(child)
    code = 0
    while children:
        ended, status = os.waitpid(-1, 0)
        if ended not in children:
            continue
        children.remove(ended)
        if not (was_told or (until_exit and status == 0)):
            # The others alone are not what was to be measured.
            code = os.waitstatus_to_exitcode(status) or code
            _kill(children, signal.SIGKILL, False)
            was_told = True
    os._exit(code if code >= 0 else 128 - code)


def _kill(pids: Sequence[int], number: int, group: bool) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(pid, number)
