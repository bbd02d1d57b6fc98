"""Runs a dataflow: as one process, as a cluster, or by the engine's own launcher.

A probe in each worker (dataflows/support/probe.py) writes marks to a pipe, at its first poll and at
the end of its input; the counters of all processes are read then. The window begins when the last
worker has polled for the first time.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import PROBES, WAITING, Failure, write_report
from waitbench.model.launch import ADDRESSES, INDEX, DataflowConfig
from waitbench.system.proc import Thread
from waitbench.system.tcp import LOOPBACK, is_listened_to, reserve_ports

MARKS = "marks"
"""The pipe's name, in the folder of the probes."""
_LISTENS_WITHIN_S = 30.0
_POLL_INTERVAL_S = 0.01
_CHILDREN_END_WITHIN_S = 1.0


class DataflowLaunch:
    """One run of a dataflow."""

    def __init__(self, report: Path, config: DataflowConfig, tree: CountedTree) -> None:
        self.report = report
        self.config = config
        self.tree = tree
        self.marks: dict[str, dict[str, Any]] = {}
        self.threads_at: dict[str, frozenset[Thread]] = {}
        self.sockets: Sequence[socket] = ()
        """Sockets that reserve a cluster's ports until all processes have ended."""

    def run(self) -> int:
        """Returns the exit code of the first process that failed, or 0. Raises ``Failure``."""
        pipe = Path(os.environ[PROBES]) / MARKS
        os.mkfifo(pipe)
        # Opened for writing, too, so that reading never returns EOF.
        reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        started_ns = time.monotonic_ns()
        self._start()
        left = self.tree.outlast(_CHILDREN_END_WITHIN_S, {reading: lambda: self._mark(reading)})
        self._mark(reading)
        self.marks["exit"] = self.tree.reading()
        code = next(filter(None, self.tree.codes), 0)
        if code:
            return code if code > 0 else 128 - code
        if left:
            raise Failure(f"{left} still ran after the dataflow's end; killed")
        if ("begin" in self.marks) != ("end" in self.marks):
            raise Failure("it marked the beginning or the end of its window, but not both")
        is_counted = "end" in self.marks and self.tree.is_counted
        if is_counted and not self.threads_at["begin"] <= self.threads_at["end"]:
            self._correct_wakeups()
        write_report(self.report, self.tree, started_ns, self.marks)
        return 0

    def _start(self) -> None:
        """Starts each process when the one before it listens.

        A process whose peer does not listen yet may sleep for a second, which depends on chance.
        """
        words, count = self.config.arguments, self.config.processes
        self.sockets = reserve_ports(count if ADDRESSES in words else 0)
        ports = [socket.getsockname()[1] for socket in self.sockets]
        addresses = ";".join(f"{LOOPBACK}:{port}" for port in ports)
        for index in range(count):
            values = {INDEX: str(index), ADDRESSES: addresses}
            arguments = [values.get(word, word) for word in words]
            self.tree.start(Command(arguments[0], arguments, os.environ, Path.cwd()))
            # The last process listens to nobody.
            if index < count - 1 and not self._await_listening(ports[index]):
                return

    def _await_listening(self, port: int) -> bool:
        """Waits for a listener on a port. Returns ``False`` if a process has ended instead."""
        end_s = time.monotonic() + _LISTENS_WITHIN_S
        while not is_listened_to(port) and time.monotonic() < end_s:
            self.tree.reap()
            if self.tree.codes:
                return False
            time.sleep(_POLL_INTERVAL_S)
        return True

    def _mark(self, pipe: int) -> None:
        """Reads the counters for the marks in the pipe; a later mark replaces an earlier one."""
        with suppress(BlockingIOError):
            names = os.read(pipe, 4096).split()
            reading = self.tree.reading()
            for name in ("begin", "end"):
                if name.encode() in names:
                    self.marks[name], self.threads_at[name] = dict(reading), self.tree.threads
            if "begin" in self.marks and WAITING in os.environ:
                Path(os.environ[WAITING]).touch()

    def _correct_wakeups(self) -> None:
        """Splits the wake-ups since ``BEGIN`` between the window and the shutdown.

        The reading at ``END`` has preemptions of ended threads as wake-ups; the total of reaped
        processes has not. The window gets the same share of wake-ups as of switches.
        """
        begin, end, last = (self.marks[name] for name in ("begin", "end", "exit"))
        switches = last["switches"] - begin["switches"]
        share = (end["switches"] - begin["switches"]) / max(1, switches)
        wakeups = self.tree.usage()["context_switches_voluntary"] - begin["wakeups"]
        end["wakeups"] = begin["wakeups"] + round(share * max(0.0, wakeups))
