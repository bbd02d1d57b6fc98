"""Process trees: commands and their descendants, counted from outside, reaped and killed.

Launchers run with ``-I -S``: only the standard library and our own modules can be imported.
"""

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
from waitbench.system import counters, proc

_KILLED_WITHIN_S = 5.0
_CHECK_EVERY_S = 0.25
_MAX_NAMED, _MAX_NAME_CHARS = 3, 100
_OUTPUT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags for a file that a worker may have replaced by a link or a pipe."""
_EVENTS = {"cpu": counters.TASK_CLOCK, "switches": counters.CONTEXT_SWITCHES}


class Command(NamedTuple):
    """A program to be started, in a folder."""

    program: str
    words: Sequence[str]
    variables: Mapping[str, str]
    folder: Path

    def become(self, output: Path | None = None, stdin: int | None = None) -> NoReturn:
        """Executes it in a session of its own: it may signal its whole group."""
        try:
            os.setsid()
            os.chdir(self.folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
            if output is not None:
                os.dup2(os.open(output, _OUTPUT_FLAGS), 1)
                os.dup2(1, 2)
            # Python ignores these, and programs inherit that.
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(self.program, list(self.words), dict(self.variables))  # noqa: S606
        except OSError as error:
            os.write(2, f"{self.program} does not start: {error.strerror}\n".encode())
        os._exit(127)


class CountedTree:
    """Commands and descendants, with orphans. One per process: it takes over SIGCHLD."""

    def __init__(self, tracepoint: int | None) -> None:
        self.tracepoint = tracepoint
        self.pids: list[int] = []
        self.exit_codes: dict[int, int] = {}
        self._uncounted: set[int] = set()
        self._used: list[resource.struct_rusage] = []
        """The usage of each reaped process and of the children that it reaped."""
        self.threads: frozenset[proc.Thread] = frozenset()
        self._clocks: dict[proc.Thread, tuple[int, int]] = {}
        """A counter of each thread, and the thread's CPU when that was opened: see ``_lag``."""
        self._lags_ns: dict[proc.Thread, int] = {}
        """How far that counter is behind the thread's clock."""
        self._preemptions: dict[proc.Thread, int] = {}
        self._counters: list[counters.TreeCounters] = []
        self.is_blind = False
        """Whether children may have used CPU that is in no figure."""
        proc.adopt_orphans()
        self._woken, waking = os.pipe()
        for descriptor in (self._woken, waking):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)

    @property
    def is_counted(self) -> bool:
        """Whether the kernel counts for this user; otherwise /proc is read."""
        return bool(self._counters)

    @property
    def codes(self) -> list[int]:
        return [code for pid, code in self.exit_codes.items() if pid in self.pids]

    @property
    def reaped(self) -> int:
        """The number of counted processes that have been reaped."""
        return len(self.exit_codes.keys() - self._uncounted)

    def start(self, command: Command, stdin: int | None = None) -> None:
        """Starts a command, counted from its first instruction."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Blocks until its counters are attached.
            os.close(writing)
            os.read(reading, 1)
            command.become(stdin=stdin)
        os.close(reading)
        if self.is_counted or not self.pids:
            self._count(pid)
        self.pids.append(pid)
        os.write(writing, b"x")
        os.close(writing)

    def replace_with_orphans(self, pid: int) -> bool:
        """Lets the processes that an ended command left stand for it; returns whether any run."""
        processes = self.running()
        orphans = processes.difference(proc.descendants(*processes), self.pids, self._uncounted)
        self.pids.remove(pid)
        self.pids += sorted(orphans)
        return bool(orphans)

    def start_beside(self, command: Command, output: Path) -> int:
        """Starts an uncounted command that writes to a new file; returns its process."""
        output.unlink(missing_ok=True)
        output.touch()
        pid = os.fork()
        if pid == 0:
            command.become(output)
        self._uncounted.add(pid)
        self.exit_codes.pop(pid, None)  # of an earlier process with this number
        return pid

    def end_beside(
        self, pid: int, within_s: float, check: Callable[[], object] = lambda: None
    ) -> int | None:
        """Waits for a command's exit code, and calls ``check``; ``None`` if it had to be killed."""
        end_s = time.monotonic() + within_s
        while self.reap() and pid not in self.exit_codes:
            check()
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                proc.kill(lambda: proc.tree(pid), _KILLED_WITHIN_S)
                self.reap()
                return None
            self.wait(min(left_s, _CHECK_EVERY_S))
        return self.exit_codes[pid]

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
        for pid in (*self.pids, *others):
            if pid not in self.exit_codes:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def reading(self) -> dict[str, Any]:
        """Reads CPU time in s, wake-ups, and switches and system calls where the kernel counts.

        ``system_s`` is the kernel's estimate by ticks. Preemptions are no wake-ups, but those of
        threads that ended between two readings are unknown.

        By ``/proc``, ``unseen_s`` is the CPU of unreaped processes and threads that have ended;
        their wake-ups are missing, and ``accounting`` adds them.
        """
        processes = self.processes()
        if self.is_counted and any(map(proc.is_protected, processes)):
            while self._counters:
                self._counters.pop().close()
        reading: dict[str, Any] = {"monotonic_ns": time.monotonic_ns(), **self.counted()}
        seen = proc.usage_by_thread(processes)
        if self._forgets_children(processes) and self.is_counted:
            self._lag(seen)
        reading["cpu_s"] = self._cpu_s(processes, reading.pop("cpu", 0))
        reading["system_s"] = proc.system_s(processes) + self.waited_s()[1]
        self.threads = frozenset(seen)
        for thread, used in seen.items():
            self._preemptions[thread] = max(used.preempted, self._preemptions.get(thread, 0))
        if self.is_counted:
            reading["wakeups"] = reading["switches"] - sum(self._preemptions.values())
        else:
            ended = sum(usage.ru_nvcsw for usage in self._used)
            reading["wakeups"] = ended + sum(used.wakeups for used in seen.values())
            seen_s = sum(self.waited_s()) + sum(used.cpu_ns for used in seen.values()) / 1e9
            reading["unseen_s"] = max(0.0, reading["cpu_s"] - seen_s)
        return reading

    def _forgets_children(self, processes: Sequence[int]) -> bool:
        """Whether a process ignores SIGCHLD: by ``/proc``, the CPU of its children is lost."""
        forgets = any(map(proc.ignores_children, processes))
        self.is_blind |= forgets and not self.is_counted
        return forgets

    def _lag(self, threads: Mapping[proc.Thread, proc.Used]) -> None:
        """Notes by how much the kernel's counter is behind the clocks of threads from now on."""
        for thread, used in threads.items():
            with suppress(OSError):  # it has ended
                if thread not in self._clocks:
                    descriptor = counters.open_event(*counters.TASK_CLOCK, 0, process=thread[1])
                    self._clocks[thread] = descriptor, used.cpu_ns
                descriptor, begun_ns = self._clocks[thread]
                lag_ns = used.cpu_ns - begun_ns - counters.read_counter(descriptor)
                self._lags_ns[thread] = max(lag_ns, self._lags_ns.get(thread, 0))

    def counted(self) -> Counter[str]:
        total = Counter[str]()
        for tree_counters in self._counters:
            total.update(tree_counters.reading())
        return total

    def cpu_s(self) -> float:
        """CPU time so far; NaN where some may be lost."""
        processes = self.processes()
        self._forgets_children(processes)
        return math.nan if self.is_blind else self._cpu_s(processes, self.counted()["cpu"])

    def _cpu_s(self, processes: Sequence[int], counted_ns: int) -> float:
        """Takes the higher of the scheduler's clock and the kernel's counter.

        The counter stands still while a CPU is handed over to a thread, up to half of the cost of a
        wake-up. The clock lacks children whose parents ignore SIGCHLD; then the counter has all,
        and the lag of live threads is added.
        """
        lag_ns = sum(self._lags_ns.values())
        clocks_s = sum(self.waited_s()) + proc.cpu_s(processes)
        return max(clocks_s, (counted_ns + lag_ns) / 1e9)

    def waited_s(self) -> tuple[float, float]:
        user_s, system_s = (
            sum(getattr(usage, f"ru_{name}") for usage in self._used) for name in ("utime", "stime")
        )
        return user_s, system_s

    def usage(self) -> dict[str, float]:
        """Returns the usage at the end, by key of metric; unreaped children have no switches in
        it."""
        user_s, system_s = self.waited_s()
        # Split the total like that of the reaped processes.
        share = system_s / (user_s + system_s) if user_s + system_s else 0.0
        total_s = self._cpu_s(self.processes(), self.counted()["cpu"])
        return {
            "time_user": (1 - share) * total_s,
            "time_system": share * total_s,
            "memory_peak_resident": 1024 * max((used.ru_maxrss for used in self._used), default=0),
            "context_switches_voluntary": sum(used.ru_nvcsw for used in self._used),
            "context_switches_involuntary": sum(used.ru_nivcsw for used in self._used),
        }

    def wait(self, timeout_s: float | None, *others: int) -> list[int]:
        """Waits for the end of a child; returns the descriptors that can be read."""
        ready = select.select([self._woken, *others], [], [], timeout_s)[0]
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        return [descriptor for descriptor in ready if descriptor != self._woken]

    def reap(self) -> bool:
        """Reaps ended children; whether any are left."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.exit_codes[pid] = os.waitstatus_to_exitcode(status)
            if pid not in self._uncounted:
                self._used.append(used)

    def processes(self) -> list[int]:
        return proc.descendants(os.getpid())

    def outlast(self, within_s: float, watched: Mapping[int, Callable[[], None]] = {}) -> str:
        """Waits for all commands, or one failure, and then for their descendants for so long.

        Returns the names of descendants that were killed after it. A failure kills the other
        commands. A watched descriptor's function is called when it can be read.
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
            for descriptor in self.wait(None if left_s == math.inf else left_s, *watched):
                watched[descriptor]()
        return ""

    def running(self) -> set[int]:
        return {pid for pid, _ in proc.identities(self.processes())}

    def names(self) -> str:
        lines = [" ".join(proc.arguments(pid)) for pid in sorted(self.running())]
        named = [repr(masked(line)[:_MAX_NAME_CHARS]) for line in lines[:_MAX_NAMED]]
        more = len(lines) - len(named)
        return f"{', '.join(named)}{f' and {more} more' if more else ''}"

    def kill_all(self) -> str:
        if not self.reap():
            return ""
        names = self.names()
        proc.kill(self.processes, _KILLED_WITHIN_S)
        self.reap()
        return names
