"""Runs a dataflow: one process, a cluster of them, or the engine's own launcher.

A probe in each worker (dataflows/support/probe.py) writes the name of a mark to a pipe: that it
polls for the first time, and that its input has ended. This program blocks until then, and reads
the counters of all that it has started. The window begins with the last first poll.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import (
    BEGIN,
    END,
    EXIT,
    PROBES,
    WAITING,
    Failure,
    write_report,
)
from waitbench.model.placeholders import ADDRESSES, INDEX
from waitbench.system.ports import LOOPBACK, is_listened_to, reserve_ports

MARKS = "marks"
"""The pipe, in the folder of the probes."""
_LISTENS_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.01
_ENDS_WITHIN_S = 1.0
"""What a process has started may run on for so long after its end."""


class DataflowLaunch:
    """One run of a dataflow."""

    def __init__(self, report: Path, plain: Mapping[str, Any], tree: CountedTree) -> None:
        self.report = report
        self.plain = plain
        self.tree = tree
        self.marks: dict[str, dict[str, Any]] = {}
        """The last reading at each."""
        self.threads: dict[str, frozenset[int]] = {}
        """Those that lived then."""
        self.sockets: Sequence[socket] = ()
        """Of the ports of a cluster; open until all has ended, so that nobody else gets one."""

    def run(self) -> int:
        """Returns the exit code of the first process that failed, or 0. Raises ``Failure``."""
        pipe = Path(os.environ[PROBES]) / MARKS
        os.mkfifo(pipe)
        # For writing, too, so that it never ends.
        reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        started_ns = time.monotonic_ns()
        self._start()
        left = self.tree.outlast(_ENDS_WITHIN_S, {reading: lambda: self._mark(reading)})
        self._mark(reading)
        self.marks[EXIT] = self.tree.reading()
        code = next(filter(None, self.tree.codes), 0)
        if code:
            return code if code > 0 else 128 - code
        if left:
            raise Failure(f"{left} still ran after the dataflow's end; killed")
        if (BEGIN in self.marks) != (END in self.marks):
            raise Failure("it marked the beginning or the end of its window, but not both")
        is_counted = END in self.marks and self.tree.is_counted
        if is_counted and not self.threads[BEGIN] <= self.threads[END]:
            self._correct_wakeups()
        write_report(self.report, self.tree, started_ns, self.marks)
        return 0

    def _start(self) -> None:
        """Starts each process when the one before it listens.

        A process that finds its peer not yet listening may sleep for a second, and whether it does
        would be chance.
        """
        words, count = self.plain["arguments"], self.plain["processes"]
        self.sockets = reserve_ports(count if ADDRESSES in words else 0)
        ports = [one.getsockname()[1] for one in self.sockets]
        addresses = ";".join(f"{LOOPBACK}:{port}" for port in ports)
        for index in range(count):
            filled = {INDEX: str(index), ADDRESSES: addresses}
            own = [filled.get(word, word) for word in words]
            command = Command(program=own[0], words=own, variables=os.environ, folder=Path.cwd())
            self.tree.start(command)
            # The last process listens to nobody.
            if index < count - 1 and not self._await_listening(ports[index]):
                return

    def _await_listening(self, port: int) -> bool:
        """Blocks until somebody listens on a port; whether no process has ended meanwhile."""
        end_s = time.monotonic() + _LISTENS_WITHIN_S
        while not is_listened_to(port) and time.monotonic() < end_s:
            self.tree.reap()
            if self.tree.codes:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def _mark(self, pipe: int) -> None:
        """Reads the counters if there are marks in the pipe."""
        with suppress(BlockingIOError):
            names = os.read(pipe, 4096).split()
            reading = self.tree.reading()
            for name in (BEGIN, END):
                if name.encode() in names:
                    self.marks[name], self.threads[name] = dict(reading), self.tree.threads
            if BEGIN in self.marks and WAITING in os.environ:
                Path(os.environ[WAITING]).touch()

    def _correct_wakeups(self) -> None:
        """Shares out wake-ups after the window began over it and what follows.

        Threads that ended with the input, before they were looked at, took along how often they
        woke up, or were preempted. When all has ended, the kernel has told that of all together.
        """
        begin, end, last = (self.marks[name] for name in (BEGIN, END, EXIT))
        after = last["switches"] - begin["switches"]
        share = (end["switches"] - begin["switches"]) / max(1, after)
        woken = self.tree.usage()["context_switches_voluntary"] - begin["wakeups"]
        end["wakeups"] = begin["wakeups"] + round(share * max(0.0, woken))
