"""Regressions of waiting, which benchmarks/doctored.py plants: it puts this module into a wheel.

A regression begins in processes that run a dataflow: when they import the package, before they read
the dataflow; or when the dataflow defines its sink, just before the workers start. No items are
lost. Processes that are left behind end after ``_LEFT_FOR_S``.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

RUNNERS = ("bytewax.run", "bytewax.testing")
"""The modules that run dataflows."""
_LEFT_FOR_S = 30
_NAP_S = 0.1
_BUSY_S = 0.3
_SILENCE_S = 3.0
_LATE_S = 0.1
_TOGETHER_S = 0.02
"""Items that a worker writes this shortly after a delay were delayed with it."""
_ONCE_S = 1.0
_CHUNK = 5_000_000
_MOST_CHUNKS = 200
_CHUNKS_A_SECOND = 10
_RARE = 5
_WORKED_S = 0.001
_PARKED_S = 0.003
_CHILD_SHARE = 0.2
_LIGHT_SHARE = 0.02

_when_items: list[Callable[[], None]] = []
"""Functions to call before a sink gets items."""
_to_start: list[Callable[[], None]] = []
"""Functions to call just before the workers start."""
_parks_s: list[float] = []
"""The time that a step sleeps after each item that it worked on; empty for none."""


def begin(kind: str) -> None:
    """Begins a regression. The package calls this when it is imported."""
    if not any(runner in sys.orig_argv for runner in RUNNERS):
        return
    at_import = {**AT_IMPORT, **TWINS}
    if kind in at_import:
        at_import[kind]()
    else:
        _to_start.append(WITH_WORKERS[kind])


def hook(sink: type) -> None:
    """Calls ``_to_start`` when a subclass of ``sink`` is defined, ``_when_items`` before its items.

    The package calls this with the base class of sinks.
    """
    if not _to_start:
        return

    base: Any = sink

    def watch(cls: type, /, **options: object) -> None:
        super(base, cls).__init_subclass__(**options)
        while _to_start:
            _to_start.pop()()
        if _when_items and "write_batch" in vars(cls):
            _follow(cls)

    setattr(sink, "__init_subclass__", classmethod(watch))  # noqa: B010 -- a method of any class


def hook_map(add_map: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an operator ``map`` whose step sleeps after each item that it worked on."""
    if not _parks_s:
        return add_map
    (park_s,) = _parks_s

    def add(step_id: str, up: object, mapper: Callable[[Any], Any]) -> Any:
        def work(item: Any) -> Any:
            begun = time.monotonic()
            result = mapper(item)
            if time.monotonic() > begun + _WORKED_S:
                time.sleep(park_s)
            return result

        return add_map(step_id, up, work)

    return add


def _follow(sink: type) -> None:
    write: Callable[[object, object], None] = vars(sink)["write_batch"]

    def write_batch(self: object, items: object) -> None:
        for call in _when_items:
            call()
        write(self, items)

    setattr(sink, "write_batch", write_batch)  # noqa: B010 -- a method of any class


def wake_up(rate: float) -> None:
    """Wakes up ``rate`` times a second, and does nothing."""
    due = time.monotonic()
    while True:
        due += 1 / rate
        left = due - time.monotonic()
        if left > 0:
            time.sleep(left)


def call_system(rate: float) -> None:
    """Makes ``rate`` cheap system calls a second."""
    made, begun = 0, time.monotonic()
    while True:
        while made < rate * (time.monotonic() - begun):
            os.getppid()
            made += 1
        time.sleep(_NAP_S)


def be_busy_after_items() -> None:
    """Spins for 0.3 s after each item."""
    last, came = [0.0], threading.Event()

    def note() -> None:
        last[0] = time.monotonic()
        came.set()

    def be_busy() -> None:
        while True:
            came.wait()
            came.clear()
            while time.monotonic() < last[0] + _BUSY_S:
                _spend()

    _when_items.append(note)
    _in_thread(be_busy)


def spin_in_silence() -> None:
    """Spins from 3 s after the last item on; without items, from 3 s after the start on."""
    last = [time.monotonic()]

    def note() -> None:
        last[0] = time.monotonic()

    def watch() -> None:
        while True:
            left = last[0] + _SILENCE_S - time.monotonic()
            if left > 0:
                time.sleep(left)
            else:
                _spend()

    _when_items.append(note)
    _in_thread(watch)


def spin_in_one() -> None:
    """Spins in the second process of a cluster."""
    if index_of(sys.orig_argv) == "1":
        _in_thread(spin)


def spin_rarely() -> None:
    """Spins in one run of five: in all of its processes, or in none."""
    if is_chosen(*_parent()):
        _in_thread(spin)


def hold_back() -> None:
    """Makes items 0.1 s late: the worker sleeps before it writes them, and uses less CPU."""
    woke: dict[int, float] = {}

    def sleep() -> None:
        worker = threading.get_ident()
        if time.monotonic() - woke.get(worker, 0.0) > _TOGETHER_S:
            time.sleep(_LATE_S)
        woke[worker] = time.monotonic()

    _when_items.append(sleep)


def grow() -> None:
    """Grows by 50 MB/s, up to 1 GB."""
    held: list[bytes] = []

    def take() -> None:
        while len(held) < _MOST_CHUNKS:
            held.append(b"\1" * _CHUNK)
            time.sleep(1 / _CHUNKS_A_SECOND)

    _in_thread(take)


def wake_a_thread() -> None:
    """Wakes up a thread 1,000 times a second."""
    _in_thread(lambda: wake_up(1000.0))


def call_in_a_thread() -> None:
    """Makes 5,000 system calls a second in a thread."""
    _in_thread(lambda: call_system(5000.0))


def start_child(share: float = _CHILD_SHARE) -> None:
    """Starts a child that uses a fifth of a core. It is killed and waited for at the exit."""
    child = _start(_burning(share))

    def reap() -> None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    atexit.register(reap)


def start_light_child() -> None:
    """Starts a child that uses 2 % of a core, about as much as the workers."""
    start_child(_LIGHT_SHARE)


def leave_child() -> None:
    """Starts a child that uses a fifth of a core, and leaves it behind."""
    _start(_burning(_CHILD_SHARE))


def leave_daemon() -> None:
    """Starts a daemon, in a new session, that uses a fifth of a core, and leaves it behind."""
    os.waitpid(_start(_DAEMONISE + _burning(_CHILD_SHARE)), 0)


def park_while_working(park_s: float = _PARKED_S) -> None:
    """Makes a step sleep for 3 ms after each call of over 1 ms: real time without CPU."""
    _parks_s.append(park_s)


def use_at_start() -> None:
    """Uses 1 s of CPU."""
    end = time.thread_time() + _ONCE_S
    while time.thread_time() < end:
        _spend()


def use_at_exit() -> None:
    """Uses 1 s of CPU at the exit."""
    atexit.register(use_at_start)


def wait_at_exit() -> None:
    """Waits 1 s at the exit, without using CPU."""
    atexit.register(time.sleep, _ONCE_S)


def spin() -> None:
    """Uses all of a core."""
    while True:
        _spend()


def index_of(arguments: Sequence[str]) -> str | None:
    """The number of a process in its cluster, from the arguments of bytewax.run."""
    return arguments[arguments.index("-i") + 1] if "-i" in arguments[:-1] else None


def is_chosen(*names: str) -> bool:
    """Whether a run, identified by ``names``, has the rare regression."""
    return zlib.crc32(" ".join(names).encode()) % _RARE == 0


def _parent() -> tuple[str, str]:
    """The identity of a run, which all of its processes share: its parent's PID and start."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="utf-8") as file:  # noqa: PTH123 -- few imports
        # Field 22 is the start; the program's name, which may contain spaces, is field 2.
        return str(parent), file.read().rpartition(")")[2].split()[19]


_DAEMONISE = """
import os
os.fork() and os._exit(0)
os.setsid()
os.fork() and os._exit(0)
"""


def _burning(share: float) -> str:
    return f"""
import time
begun = time.monotonic()
while time.monotonic() < begun + {_LEFT_FOR_S}:
    while time.process_time() < {share} * (time.monotonic() - begun):
        sum(range(1000))
    time.sleep(0.01)
"""


def _start(code: str) -> int:
    """Starts a child that runs Python code without output; returns its PID."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    command = [sys.executable, "-I", "-S", "-c", code]
    return os.posix_spawn(command[0], command, os.environ, file_actions=silent)


def _in_thread(target: Callable[[], None]) -> None:
    threading.Thread(target=target, daemon=True).start()


_BUFFER = bytes(1 << 19)


def _spend() -> None:
    """Uses a little CPU without the GIL."""
    zlib.crc32(_BUFFER)


WITH_WORKERS: dict[str, Callable[[], None]] = {
    "late-busy": be_busy_after_items,
    "silence": spin_in_silence,
    "one-of-two": spin_in_one,
    "late": hold_back,
    "rare": spin_rarely,
}
"""The regressions of each kind that begin just before the workers start."""
AT_IMPORT: dict[str, Callable[[], None]] = {
    "memory": grow,
    "thread": wake_a_thread,
    "child-reaped": start_child,
    "child-light": start_light_child,
    "child-left": leave_child,
    "child-daemon": leave_daemon,
    "startup": use_at_start,
    "shutdown": use_at_exit,
    "shutdown-wait": wait_at_exit,
    "syscalls": call_in_a_thread,
    "parked": park_while_working,
}
"""The regressions of each kind that begin when the package is imported."""
TWINS: dict[str, Callable[[], None]] = {"parked-twin": lambda: park_while_working(0.0)}
"""Baselines that replace the wheel itself: the same code as a regression, without its cost."""
REGRESSIONS = (*WITH_WORKERS, *AT_IMPORT)
