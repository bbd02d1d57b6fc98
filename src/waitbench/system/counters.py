"""What a program and all that it starts use, counted by the kernel from outside: exactly.

Counting events are opened by the thread that starts the program, and are enabled when it is
executed. The kernel adds one to a number at each call or switch, and nothing else runs. A reading
is the sum over all descendants, living and dead, whatever session they are in.
"""

import ctypes
import errno
import os
import platform
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

TYPE_SOFTWARE = 1
TYPE_TRACEPOINT = 2
DISABLED, INHERIT, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 12
"""Together: counts nothing of the thread that opens it, and all of the programs that it starts.

A fork inherits the event, and an exec enables it. Then every thread and process that the program
starts is counted, wherever it moves to; threads of the opener that execute nothing are not."""

_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
"""The system call's number, by architecture."""
_THIS_THREAD = 0
_ANY_CPU = -1
_NO_GROUP = -1
_CLOSE_ON_EXEC = 8
_ATTRIBUTE_BYTES = 128
_ANSWERED_WITHIN_S = 10.0


def open_event(kind: int, number: int, flags: int, *, process: int = _THIS_THREAD) -> int:
    """Opens a counter of a process; returns its descriptor. ``flags`` are attribute bits.

    Raises ``OSError`` where the kernel does not allow it.
    """
    system_call = _SYSTEM_CALL.get(platform.machine())
    if system_call is None:
        raise OSError(errno.ENOSYS, f"no perf_event_open is known for {platform.machine()}")
    # struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, …
    attribute = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into("IIQQQQQ", attribute, 0, kind, _ATTRIBUTE_BYTES, number, 0, 0, 0, flags)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(
        system_call,
        ctypes.create_string_buffer(bytes(attribute), _ATTRIBUTE_BYTES),
        process,
        _ANY_CPU,
        _NO_GROUP,
        _CLOSE_ON_EXEC,
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)


TASK_CLOCK = (TYPE_SOFTWARE, 1)
"""CPU time in ns."""
CONTEXT_SWITCHES = (TYPE_SOFTWARE, 3)


def hits_of(tracepoint: int) -> tuple[int, int]:
    """How often a tracepoint is passed, by its number: ``instruments.find_instruments``."""
    return TYPE_TRACEPOINT, tracepoint


class TreeCounters:
    """Counters of the program that a thread starts while they are open, and of its tree.

    Not of the thread itself, unless ``flags`` are ``INHERIT`` alone: then of the thread, from now
    on, and of all that it starts. To be closed, or used as a context manager.
    """

    def __init__(
        self,
        events: Mapping[str, tuple[int, int]],
        process: int = _THIS_THREAD,
        flags: int = DISABLED | INHERIT | ENABLE_ON_EXEC,
    ) -> None:
        """Opens a counter for each event, by name; of this thread, or of another one.

        That may start one program only. The first can take the others' counts with it: as the CPU
        goes from a process to its child, the kernel swaps their counters instead of stopping one
        and starting the other; the child's exec then uses up what was to enable the original, and
        later children inherit that.
        (Seen on Linux 6.18. Source: kernel/events/core.c, ``perf_event_context_sched_out``,
        ``event_enable_on_exec``, ``inherit_event``.)

        Raises ``OSError`` if the kernel refuses one.
        """
        self._descriptors: dict[str, int] = {}
        try:
            for name, (kind, number) in events.items():
                self._descriptors[name] = open_event(kind, number, flags, process=process)
        except OSError:
            self.close()
            raise

    def reading(self) -> dict[str, int]:
        """What was counted so far, by name; from any thread."""
        return {name: read_counter(one) for name, one in self._descriptors.items()}

    def close(self) -> None:
        """Closes the counters; they can no longer be read."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def __enter__(self) -> "TreeCounters":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def read_counter(descriptor: int) -> int:
    """What an event has counted so far."""
    (count,) = struct.unpack("Q", os.read(descriptor, 8))
    return int(count)


@contextmanager
def answering(answer: Callable[[], int]) -> Iterator[str]:
    """Tells whoever connects ``answer()`` at that moment, in decimal digits; yields where.

    That is the name of an abstract socket (Linux), which no length of a path limits and nobody has
    to clear away. A thread blocks until somebody asks: silence costs nothing.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # the kernel gives it a name that nobody has
        listener.listen(128)
        thread = threading.Thread(target=_answer, args=(listener, answer), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1:].decode("ascii")
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join()


def asked(name: str) -> int:
    """What is told under a name. Raises ``OSError`` where nobody answers any more."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_ANSWERED_WITHIN_S)
        asking.connect(f"\0{name}")
        said = asking.recv(32)
    if not said:
        raise ConnectionError(f"{name} does not answer")
    return int(said)


def _answer(listener: socket.socket, answer: Callable[[], int]) -> None:
    while True:
        try:
            asker, _ = listener.accept()
        except OSError:  # shut down
            return
        with asker, suppress(OSError):  # it is gone
            asker.sendall(b"%d" % answer())
