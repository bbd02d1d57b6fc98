"""Process trees: commands and their descendants, counted from outside, reaped and killed.

Launchers import this: standard library only.
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
    """A program to be started in a working folder, with its arguments and variables."""

    program: str
    words: Sequence[str]
    variables: Mapping[str, str]
    folder: Path

    def become(self, output: Path | None = None, stdin: int | None = None) -> NoReturn:
        """Replaces this process by the command, in a new session, as it may signal its group."""
        try:
            os.setsid()
            os.chdir(self.folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
            if output is not None:
                os.dup2(os.open(output, _OUTPUT_FLAGS), 1)
                os.dup2(1, 2)
            # Python ignores these signals, and programs would inherit that.
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execve(self.program, list(self.words), dict(self.variables))  # noqa: S606
        except OSError as error:
            os.write(2, f"{self.program} does not start: {error.strerror}\n".encode())
        os._exit(127)


class CountedTree:
    """Commands and all their descendants. A process may have only one, which handles SIGCHLD."""

    def __init__(self, tracepoint: int | None) -> None:
        self.tracepoint = tracepoint
        self.pids: list[int] = []
        """The processes of the commands, in the order of their start."""
        self.exit_codes: dict[int, int] = {}
        self._uncounted: set[int] = set()
        """Commands beside the worker, such as pokes."""
        self._used: list[resource.struct_rusage] = []
        """The usage of each reaped process and of the children that it reaped."""
        self.threads: frozenset[proc.Thread] = frozenset()
        """The threads of the latest reading."""
        self._clocks: dict[proc.Thread, tuple[int, int]] = {}
        """The descriptor of each thread's counter, and the thread's CPU in ns at its opening."""
        self._lags_ns: dict[proc.Thread, int] = {}
        """By how much the counter of each thread is behind the thread's clock."""
        self._preemptions: dict[proc.Thread, int] = {}
        self._counters: list[counters.TreeCounters] = []
        self.is_blind = False
        """Whether CPU of child processes may be missing from all figures."""
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
        """The exit codes of the commands that have ended, the first one first."""
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
            self._attach_counters(pid)
        self.pids.append(pid)
        os.write(writing, b"x")
        os.close(writing)

    def replace_with_orphans(self, pid: int) -> bool:
        """Replaces an ended command by the processes that it left; returns whether any run."""
        processes = self.running()
        orphans = processes.difference(proc.descendants(*processes), self.pids, self._uncounted)
        self.pids.remove(pid)
        self.pids += sorted(orphans)
        return bool(orphans)

    def hand_over(self, count: int) -> bool:
        """Replaces commands that ended with 0 by what they left; returns whether ``count`` run."""
        for pid in [it for it in self.pids if self.exit_codes.get(it) == 0]:
            self.replace_with_orphans(pid)
        return sum(pid not in self.exit_codes for pid in self.pids) >= count

    def start_uncounted(self, command: Command, output: Path) -> int:
        """Starts an uncounted command that writes to a new file; returns its process."""
        output.unlink(missing_ok=True)
        output.touch()
        pid = os.fork()
        if pid == 0:
            command.become(output)
        self._uncounted.add(pid)
        self.exit_codes.pop(pid, None)  # of an earlier process with this PID
        return pid

    def end_uncounted(
        self, pid: int, within_s: float, check: Callable[[], object] = lambda: None
    ) -> int | None:
        """Waits for an uncounted command, and calls ``check``. Its code is ``None`` if killed."""
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

    def _attach_counters(self, pid: int) -> None:
        """Attaches the kernel's counters; drops all if it does not count for this user."""
        calls = {}
        if self.tracepoint is not None:
            calls["system_calls"] = (counters.TRACEPOINT, self.tracepoint)
        for events in (_EVENTS | calls, _EVENTS):
            with suppress(OSError):
                self._counters.append(counters.TreeCounters(events, pid))
                return
        self._counters.clear()

    def signal(self, number: int, *other_pids: int) -> None:
        for pid in (*self.pids, *other_pids):
            if pid not in self.exit_codes:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def reading(self) -> dict[str, Any]:
        """Reads CPU time in s, wake-ups, and switches and system calls where the kernel counts.

        ``system_s`` is the kernel's estimate by ticks. Wake-ups are the switches minus the known
        preemptions: a thread's preemptions since the reading before its end are unknown.

        Where ``/proc`` is read, ``unseen_s`` is the CPU of ended threads, and of children that
        their parents reaped. Their wake-ups are missing, and ``accounting`` estimates them.
        """
        processes = self.processes()
        # A protected process has lost its counters: /proc has the figures of all.
        if self.is_counted and any(map(proc.is_protected, processes)):
            while self._counters:
                self._counters.pop().close()
        reading: dict[str, Any] = {"monotonic_ns": time.monotonic_ns(), **self.counted()}
        seen = proc.usage_by_thread(processes)
        if self._check_children(processes) and self.is_counted:
            self._update_lags(seen)
        reading["cpu_s"] = self._cpu_s(processes, reading.pop("cpu", 0))
        reading["system_s"] = proc.system_s(processes) + self.reaped_s()[1]
        self.threads = frozenset(seen)
        for thread, used in seen.items():
            self._preemptions[thread] = max(used.preempted, self._preemptions.get(thread, 0))
        if self.is_counted:
            reading["wakeups"] = reading["switches"] - sum(self._preemptions.values())
        else:
            reaped = sum(usage.ru_nvcsw for usage in self._used)
            reading["wakeups"] = reaped + sum(used.wakeups for used in seen.values())
            seen_s = sum(self.reaped_s()) + sum(used.cpu_ns for used in seen.values()) / 1e9
            reading["unseen_s"] = max(0.0, reading["cpu_s"] - seen_s)
        return reading

    def _check_children(self, processes: Sequence[int]) -> bool:
        """Returns whether a process ignores SIGCHLD; sets ``is_blind`` if CPU is then lost."""
        is_ignored = any(map(proc.ignores_children, processes))
        self.is_blind |= is_ignored and not self.is_counted
        return is_ignored

    def _update_lags(self, threads: Mapping[proc.Thread, proc.Used]) -> None:
        """Measures by how much the kernel's counters have fallen behind the threads' clocks."""
        for thread, used in threads.items():
            with suppress(OSError):  # the thread has ended
                if thread not in self._clocks:
                    descriptor = counters.open_event(*counters.TASK_CLOCK, 0, process=thread[1])
                    self._clocks[thread] = descriptor, used.cpu_ns
                descriptor, begun_ns = self._clocks[thread]
                lag_ns = used.cpu_ns - begun_ns - counters.read_counter(descriptor)
                self._lags_ns[thread] = max(lag_ns, self._lags_ns.get(thread, 0))

    def counted(self) -> Counter[str]:
        """Returns the kernel's counts so far, by name; 0 for all where it does not count."""
        total = Counter[str]()
        for tree_counters in self._counters:
            total.update(tree_counters.reading())
        return total

    def cpu_s(self) -> float:
        """Returns the CPU time so far; NaN if some may be missing."""
        processes = self.processes()
        self._check_children(processes)
        return math.nan if self.is_blind else self._cpu_s(processes, self.counted()["cpu"])

    def _cpu_s(self, processes: Sequence[int], counted_ns: int) -> float:
        """Returns the higher figure of the scheduler's clocks and the kernel's counter.

        The counter stands still while a CPU switches to a thread, for up to half of the cost of a
        wake-up. The clocks lack children whose parents ignore SIGCHLD: the counter has them, and
        the lags of the threads are added to it.
        """
        lag_ns = sum(self._lags_ns.values())
        clocks_s = sum(self.reaped_s()) + proc.cpu_s(processes)
        return max(clocks_s, (counted_ns + lag_ns) / 1e9)

    def reaped_s(self) -> tuple[float, float]:
        """Returns the user and the system time of all reaped processes."""
        user_s = sum(usage.ru_utime for usage in self._used)
        return user_s, sum(usage.ru_stime for usage in self._used)

    def usage(self) -> dict[str, float]:
        """Returns the usage, by key of metric, once all processes have ended."""
        user_s, system_s = self.reaped_s()
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

    def wait(self, timeout_s: float | None, *descriptors: int) -> list[int]:
        """Waits until a child ends or a descriptor can be read; returns readable descriptors."""
        ready = select.select([self._woken, *descriptors], [], [], timeout_s)[0]
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        return [descriptor for descriptor in ready if descriptor != self._woken]

    def reap(self) -> bool:
        """Reaps ended children; returns whether any others are left."""
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
        """Waits until all commands have ended, and then ``within_s`` for their descendants.

        Kills the other commands if one fails. Calls the function of a ``watched`` descriptor
        when it can be read. Returns the names of descendants that had to be killed.
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
        """Returns the processes that have not ended; ``processes`` includes zombies."""
        return {pid for pid, _ in proc.identities(self.processes())}

    def names(self) -> str:
        """Returns the command lines of some running processes, for messages."""
        lines = [" ".join(proc.arguments(pid)) for pid in sorted(self.running())]
        named = [repr(masked(line)[:_MAX_NAME_CHARS]) for line in lines[:_MAX_NAMED]]
        more = len(lines) - len(named)
        return f"{', '.join(named)}{f' and {more} more' if more else ''}"

    def kill_all(self) -> str:
        """Kills all processes; returns their names."""
        if not self.reap():
            return ""
        names = self.names()
        proc.kill(self.processes, _KILLED_WITHIN_S)
        self.reap()
        return names


class ProcessCensus:
    """The live processes of a tree, and how many have ended so far, as far as that is known."""

    def __init__(self, tree: CountedTree) -> None:
        processes = tree.processes()
        self.alive = proc.identities(processes)
        self.reaped = tree.reaped
        self.faults = proc.faults_of_ended(processes)

    def begun_since(self, before: "ProcessCensus") -> int:
        """Returns the least number of processes that began since ``before``.

        All children that one parent reaped count as one.
        """
        parents = sum(rise > before.faults.get(pid, rise) for pid, rise in self.faults.items())
        return max(parents + self.reaped - before.reaped, len(self.alive - before.alive))
