"""What each thread of a run does while nobody looks: counted, and named by its role."""

import re
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from waitbench.engines.base import Engine
from waitbench.model.why import Frame
from waitbench.system import tasks, trees

PARTS = 4
"""Threads are counted so often; how these differ tells how much a thread varies."""
_SLICE_S = 0.25
"""A process that lives for less may not be seen at all."""
_LONGEST_NAME = 15
"""So many bytes of a name the kernel keeps."""
_VERSION = re.compile(r"[-_.@]?v?\d+(\.\d+)+\S*$|[-_.@][0-9a-f]{7,40}$")
"""The end of a program's name that says which one it is, which its role does not."""

Key = tuple[int, int]
"""The process and the thread."""


@dataclass
class Thread:
    """What a thread did while it was counted, and where it was when its stack was read."""

    process: str
    name: str
    wakeups: list[int] = field(default_factory=lambda: [0] * PARTS)
    """In each part of the time."""
    cpu_ns: list[int] = field(default_factory=lambda: [0] * PARTS)
    delayed_ns: int = 0
    asleep: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    """Its stacks when it slept."""
    at_work: Counter[tuple[Frame, ...]] = field(default_factory=Counter)
    sleeps_in: set[int] = field(default_factory=set)
    """The system calls in which it was asleep."""


class ThreadCounts:
    """What each thread below a process has done, while nobody looked."""

    def __init__(self, engine: Engine, root: int, over: threading.Event) -> None:
        """``over`` is set when the run is."""
        self.threads: dict[Key, Thread] = {}
        self.parts_s: list[float] = []
        """How long each part took that was counted."""
        self.begun = 0
        """Processes that began meanwhile."""
        self._engine = engine
        self.root = root
        """The process that the run began with."""
        self.over = over
        self._roles: dict[int, str] = {}

    @property
    def lasted_s(self) -> float:
        """For how long it was counted."""
        return sum(self.parts_s)

    def count(self, seconds: float) -> None:
        """Counts one more part, for so long, or until the run is over."""
        part, begun, lasted_s = len(self.parts_s), time.monotonic(), 0.0
        before = self._used()
        known = {pid for pid, _ in before}
        while lasted_s < seconds and not self.over.wait(min(_SLICE_S, seconds - lasted_s)):
            now = self._used()
            if not now:
                break
            lasted_s = time.monotonic() - begun
            for key, used in now.items():
                # Of a process that began meanwhile all counts; so does all of a new thread.
                rise = used.since(before.get(key, tasks.Used(0, 0)))
                thread = self.threads.get(key) or self._named(key)
                self.threads[key] = thread
                thread.wakeups[part] += rise.wakeups
                thread.cpu_ns[part] += rise.cpu_ns
                thread.delayed_ns += rise.delayed_ns
            self.begun += len({pid for pid, _ in now} - known)
            known |= {pid for pid, _ in now}
            before = now
        if lasted_s:
            self.parts_s.append(lasted_s)

    def _used(self) -> dict[Key, tasks.Used]:
        found = {}
        for pid in trees.below(self.root):
            for tid in tasks.threads(pid):
                used = tasks.used(pid, tid)
                if used is not None:
                    found[pid, tid] = used
        return found

    def _named(self, key: Key) -> Thread:
        pid, tid = key
        name = tasks.name(pid, tid)
        # A thread without a name of its own has that of the program, which is no role.
        if name in {one[:_LONGEST_NAME] for one in tasks.programs(pid)}:
            name = "main thread" if tid == pid else "unnamed thread"
        return Thread(self._role(pid), name)

    def _role(self, pid: int) -> str:
        """Such as ``worker``, ``worker 1`` or ``child celery``."""
        if pid not in self._roles:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                known = self._engine.role(tasks.arguments(pid))
                is_first = process.ppid() == self.root and "worker" not in self._roles.values()
                role = known or ("worker" if is_first else f"child {_program(process)}")
                taken = sum(one.partition(" #")[0] == role for one in self._roles.values())
                self._roles[pid] = f"{role} #{taken + 1}" if taken else role
        return self._roles.get(pid, "child")


def _program(process: psutil.Process) -> str:
    """The name of what a process runs, without its version; of Python, that of the script."""
    words = tasks.arguments(process.pid)
    program = Path(words[0]).name.split(" ")[0].rstrip(":")
    if program.startswith("python"):
        scripts = [word for word in words[1:] if word and not word.startswith("-")]
        return Path(scripts[0]).name if scripts and "-c" not in words else "python"
    program = program or process.name()
    return _VERSION.sub("", program) or program
