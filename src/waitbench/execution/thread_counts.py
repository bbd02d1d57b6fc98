"""What each thread of a run does while nobody looks: counted, and named by its role."""

import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from waitbench.engines.base import Engine
from waitbench.system import tasks, trees

SLICE_S = 0.25
"""A process that lives for less may not be seen at all."""

_LONGEST_NAME = 15
"""So many bytes of a name the kernel keeps."""
_VERSION = re.compile(r"[-_.@]?v?\d+(\.\d+)+\S*$|[-_.@][0-9a-f]{7,40}$")
"""The end of a program's name that says which one it is, which its role does not."""

Key = tuple[int, int]
"""The process and the thread."""


@dataclass
class Thread:
    """What is counted of one."""

    process: str
    name: str
    slices: list[tuple[float, tasks.Used]] = field(default_factory=list)
    """What it used in each slice of the time, and when that ended, in s."""

    @property
    def wakeups(self) -> int:
        return sum(used.wakeups for _, used in self.slices)

    @property
    def cpu_ns(self) -> int:
        return sum(used.cpu_ns for _, used in self.slices)

    @property
    def delayed_ns(self) -> int:
        return sum(used.delayed_ns for _, used in self.slices)


class Counts:
    """What each thread has done, while nobody looked."""

    def __init__(self, engine: Engine, root: int) -> None:
        self.threads: dict[Key, Thread] = {}
        self.lasted_s = 0.0
        self.begun = 0
        """Processes that began meanwhile."""
        self._engine = engine
        self._root = root
        self._roles: dict[int, str] = {}

    def count(self, seconds: float, over: threading.Event) -> None:
        """Counts for so long, or until it is over."""
        begun = time.monotonic()
        before = self._used()
        known = {pid for pid, _ in before}
        while self.lasted_s < seconds and not over.is_set():
            over.wait(min(SLICE_S, seconds - self.lasted_s))
            now = self._used()
            if not now:
                break
            self.lasted_s = time.monotonic() - begun
            for key, used in now.items():
                # Of a process that began meanwhile all counts; so does all of a new thread.
                old = before.get(key, tasks.Used(0, 0))
                if key not in self.threads:
                    self.threads[key] = self._named(key)
                self.threads[key].slices.append((self.lasted_s, used.since(old)))
            before = now
        self.begun = len({pid for pid, _ in self.threads} - known)

    def _used(self) -> dict[Key, tasks.Used]:
        found = {}
        for pid in trees.below(self._root):
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
                words = tasks.arguments(pid)
                known = self._engine.role(words)
                is_first = process.ppid() == self._root and "worker" not in self._roles.values()
                role = known or ("worker" if is_first else f"child {_called(words, process)}")
                taken = sum(one.partition(" #")[0] == role for one in self._roles.values())
                self._roles[pid] = f"{role} #{taken + 1}" if taken else role
        return self._roles.get(pid, "child")


def _called(words: Sequence[str], process: psutil.Process) -> str:
    """What a process is called by who started it."""
    program = Path(words[0]).name.split(" ")[0].rstrip(":")
    named = [word for word in words[1:] if word and not word.startswith("-")]
    if program.startswith("python"):
        is_file = named and "-c" not in words
        return Path(named[0]).name if is_file else "python"
    program = program or process.name()
    return _VERSION.sub("", program) or program
