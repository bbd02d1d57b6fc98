"""Commands and all that they start: counted by the kernel from outside, waited for, and killed."""

import math
import os
import resource
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from waitbench.model.errors import masked
from waitbench.system import counters, tasks, trees

_KILLED_WITHIN_S = 5.0
_NAMED, _MOST_NAMED = 3, 100
"""Of processes that are left: how many are named, and by how many characters."""
_EVENTS = {"cpu": counters.TASK_CLOCK, "switches": counters.CONTEXT_SWITCHES}


class Command(NamedTuple):
    """What is started."""

    program: str
    words: Sequence[str]
    variables: Mapping[str, str]
    folder: Path
    """Where it runs."""

    def become(self, output: Path | None = None) -> NoReturn:
        """Turns this process into it, in a session of its own: it may signal its whole group."""
        try:
            os.setsid()
            os.chdir(self.folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if output is not None:
                os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
                os.dup2(1, 2)
            # Python ignores these, and a program inherits that.
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(self.program, list(self.words), dict(self.variables))  # noqa: S606
        except OSError as error:
            os.write(2, f"{self.program} does not start: {error.strerror}\n".encode())
        os._exit(127)


class CountedTree:
    """Some commands and their descendants. This process adopts what these leave behind.

    There is one in a process: it takes over the signal of children that end.
    """

    def __init__(self, tracepoint: int | None) -> None:
        self.tracepoint = tracepoint
        """What system calls are counted by, if they are."""
        self.pids: list[int] = []
        """Those of the commands."""
        self.ended: dict[int, int] = {}
        """The exit codes of what has been waited for, by process, in this order."""
        self._beside: set[int] = set()
        """Children of this process that are not of the commands."""
        self._used: list[resource.struct_rusage] = []
        """What each process of the commands has used that was waited for here, with its own."""
        self.threads: frozenset[int] = frozenset()
        """Those that lived at the last reading."""
        self._clocks: dict[int, tuple[int, int]] = {}
        """A counter of a thread by itself, and its CPU when that was opened: see ``_lag``."""
        self._lags_ns: dict[int, int] = {}
        """By how much that counter is behind the thread's clock."""
        self._preempted: dict[int, int] = {}
        """How often each thread had to leave its CPU to others, when it was last looked at."""
        self._counters: list[counters.TreeCounters] = []
        """One of each command, or none."""
        trees.adopt_orphans()
        self._woken, waking = os.pipe()
        for descriptor in (self._woken, waking):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)

    @property
    def is_counted(self) -> bool:
        """Whether the kernel counts for this user. Otherwise /proc is read."""
        return bool(self._counters)

    @property
    def codes(self) -> list[int]:
        """The exit codes of the commands that have ended, in this order."""
        return [code for pid, code in self.ended.items() if pid in self.pids]

    def start(self, command: Command) -> None:
        """Starts a command, which is counted from before it begins."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Not before it is counted.
            os.close(writing)
            os.read(reading, 1)
            command.become()
        os.close(reading)
        if self.is_counted or not self.pids:
            self._count(pid)
        self.pids.append(pid)
        os.write(writing, b"x")
        os.close(writing)

    def start_beside(self, command: Command, output: Path) -> int:
        """Starts what is not counted and writes to a file; returns its process."""
        pid = os.fork()
        if pid == 0:
            command.become(output)
        self._beside.add(pid)
        self.ended.pop(pid, None)  # of an earlier process with this number
        return pid

    def end_beside(self, pid: int, within_s: float) -> int | None:
        """The exit code of what was started beside; ``None`` where it had to be killed."""
        end_s = time.monotonic() + within_s
        while self.reap() and pid not in self.ended:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                with suppress(PermissionError):  # it has become another user's
                    for kill in (os.kill, os.killpg):
                        with suppress(ProcessLookupError):
                            kill(pid, signal.SIGKILL)
                    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                self.reap()
                return None
            self.wait(left_s)
        return self.ended[pid]

    def _count(self, pid: int) -> None:
        calls = {}
        if self.tracepoint is not None:
            calls["system_calls"] = counters.hits_of(self.tracepoint)
        for events in (_EVENTS | calls, _EVENTS):
            with suppress(OSError):
                self._counters.append(counters.TreeCounters(events, pid))
                return
        self._counters.clear()

    def signal(self, number: int, *others: int) -> None:
        """Sends a signal to each command that runs, and to other processes."""
        for pid in (*self.pids, *others):
            if pid not in self.ended:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def reading(self) -> dict[str, Any]:
        """CPU time in seconds, wake-ups, and where the kernel counts switches and system calls.

        ``system_s`` is the kernel's estimate by ticks, of what lives or was waited for. A thread
        that was preempted has not woken up: that is known while it lives.

        By ``/proc``, what has ended and was not waited for here is ``unseen_s`` of the CPU, and its
        wake-ups are missing: ``accounting`` adds these. ``is_blind`` where it cannot.
        """
        reading: dict[str, Any] = {"monotonic_ns": time.monotonic_ns(), **self.counted()}
        processes = self.processes()
        seen = trees.threads(processes)
        forgets = any(map(tasks.ignores_children, processes))
        if self.is_counted and forgets:
            self._lag(seen)
        reading["cpu_s"] = self._cpu_s(processes, reading.pop("cpu", 0))
        reading["system_s"] = trees.system_s(processes) + sum(one.ru_stime for one in self._used)
        self.threads = frozenset(seen)
        for thread, used in seen.items():
            self._preempted[thread] = max(used.preempted, self._preempted.get(thread, 0))
        if self.is_counted:
            reading["wakeups"] = reading["switches"] - sum(self._preempted.values())
        else:
            ended = sum(one.ru_nvcsw for one in self._used)
            reading["wakeups"] = ended + sum(used.wakeups for used in seen.values())
            seen_s = sum(self.waited_s()) + sum(used.cpu_ns for used in seen.values()) / 1e9
            reading |= {"unseen_s": max(0.0, reading["cpu_s"] - seen_s), "is_blind": forgets}
        return reading

    def _lag(self, threads: Mapping[int, tasks.Used]) -> None:
        """Notes by how much the kernel's counter is behind the clocks of threads from now on."""
        for tid, used in threads.items():
            with suppress(OSError):  # it has ended
                if tid not in self._clocks:
                    descriptor = counters.open_event(*counters.TASK_CLOCK, 0, process=tid)
                    self._clocks[tid] = descriptor, used.cpu_ns
                descriptor, begun_ns = self._clocks[tid]
                lag_ns = used.cpu_ns - begun_ns - counters.read_counter(descriptor)
                self._lags_ns[tid] = max(lag_ns, self._lags_ns.get(tid, 0))

    def counted(self) -> Counter[str]:
        """What the kernel counted so far, by name; nothing where it does not."""
        total = Counter[str]()
        for one in self._counters:
            total.update(one.reading())
        return total

    def cpu_s(self) -> float:
        """CPU time so far, of what lives and of what has ended."""
        return self._cpu_s(self.processes(), self.counted()["cpu"])

    def _cpu_s(self, processes: Sequence[int], counted_ns: int) -> float:
        """CPU time by the scheduler's clock; or, where that has less, by the kernel's counter.

        The counter stands still while a CPU is handed over to a thread, which can be more than half
        of what a wake-up costs. The clock lacks a child that nobody has waited for, as its parent
        ignores its end: then the counter has all, and lacks of threads that live what is known.
        """
        lag_ns = sum(self._lags_ns.values())
        clocks_s = sum(self.waited_s()) + trees.cpu_s(processes)
        return max(clocks_s, (counted_ns + lag_ns) / 1e9)

    def waited_s(self) -> tuple[float, float]:
        """User and system time of what has been waited for."""
        user_s, system_s = (
            sum(getattr(one, f"ru_{name}") for one in self._used) for name in ("utime", "stime")
        )
        return user_s, system_s

    def usage(self) -> dict[str, float]:
        """What all of it has used, at its end, by the keys of metrics.

        Children that nobody waited for switched nowhere.
        """
        user_s, system_s = self.waited_s()
        # The parts of all are those of what was waited for.
        share = system_s / (user_s + system_s) if user_s + system_s else 0.0
        total_s = self.cpu_s()
        return {
            "time_user": (1 - share) * total_s,
            "time_system": share * total_s,
            "memory_peak_resident": 1024 * max((one.ru_maxrss for one in self._used), default=0),
            "context_switches_voluntary": sum(one.ru_nvcsw for one in self._used),
            "context_switches_involuntary": sum(one.ru_nivcsw for one in self._used),
        }

    def wait(self, timeout_s: float | None, *others: int) -> list[int]:
        """Blocks until a child has ended, or the time is over; or others can be read: which."""
        ready = select.select([self._woken, *others], [], [], timeout_s)[0]
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        return [one for one in ready if one != self._woken]

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
            if pid not in self._beside:
                self._used.append(used)

    def processes(self) -> list[int]:
        """All that was started here and has not been waited for, adopted or not."""
        return trees.below(os.getpid())

    def outlast(self, within_s: float, watched: Mapping[int, Callable[[], None]] = {}) -> str:
        """Blocks until all commands have ended, or one has failed, and so has what they started.

        That is given so many seconds more; the names of processes that were killed after them are
        returned. If a command fails, the others are killed. A watched descriptor's function is
        called when it can be read.
        """
        end_s = math.inf
        while self.reap():
            if any(self.codes):
                self.kill_all()
                return ""
            if len(self.codes) == len(self.pids):
                end_s = min(end_s, time.monotonic() + within_s)
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return self.kill_all()
            for one in self.wait(None if left_s == math.inf else left_s, *watched):
                watched[one]()
        return ""

    def others(self) -> set[int]:
        """All that runs of what was started here."""
        return {pid for pid, _ in trees.identities(self.processes())}

    def names(self) -> str:
        """The command lines of all that runs of it; of many, those of the first."""
        lines = [" ".join(tasks.arguments(pid)) for pid in sorted(self.others())]
        named = [repr(masked(line)[:_MOST_NAMED]) for line in lines[:_NAMED]]
        more = len(lines) - len(named)
        return f"{', '.join(named)}{f' and {more} more' if more else ''}"

    def kill_all(self) -> str:
        """Kills what is left of all that was started; the names of that."""
        names = ""
        if self.reap():
            names = self.names()
            trees.kill(self.processes, _KILLED_WITHIN_S)
            self.reap()
        return names
