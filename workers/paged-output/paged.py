"""A writer that hands messages to a device in pages, and counts whatever becomes of them."""

import threading
import time
from collections.abc import Callable
from typing import Any, Optional

from buffer import Buffer
from messages import Message, OneProcess, as_bytes
from settings import BUFFER, OVERFLOWS, PAGE_SIZE, validate
from stats import Stats

_YIELD_S = 0.000_001


class PagedWriter:
    """Messages go into a bounded buffer; a thread sends them on in pages, in order.

    A page never has more than ``page_size`` bytes, unless a single message has: that one goes
    alone, after the page before it. A page leaves as soon as the device is free, full or not, so
    nothing waits for company; while the device is busy messages gather.

    With the buffer full, ``overflow`` says what gives way: the message that comes
    (``drop-newest``), the one that has waited longest (``drop-oldest``), or the producer, who waits
    (``block``). Any number of threads may send; producers in other processes have a writer and a
    connection of their own. The thread sleeps on a condition while there is nothing to send.

    Before ``start``, and if the thread has died, producers write themselves, message by message.
    ``acknowledged`` is called with what the device has acknowledged: a page's messages, in order.
    """

    def __init__(
        self,
        device: Any,
        page_size: int = PAGE_SIZE,
        buffer: int = BUFFER,
        overflow: str = OVERFLOWS[0],
        encoding: str = "utf-8",
        acknowledged: Optional[Callable[[list[bytes]], None]] = None,
        starts: bool = True,
    ) -> None:
        validate(page_size, buffer, overflow, encoding)
        self._device = device
        self._page_size = page_size
        self._most_waiting = buffer
        self._overflow = overflow
        self._encoding = encoding
        self._acknowledged = acknowledged
        self._process = OneProcess()
        self._buffer = Buffer()
        self._turn = threading.Lock()
        """Held by whoever talks to the device; taken before ``_lock``."""
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._emptied = threading.Condition(self._lock)
        self._asleep = self._closing = self._sending = False
        self._error: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None
        if starts:
            self.start()

    @property
    def error(self) -> Optional[BaseException]:
        """Why nothing is sent any more, if the device has failed."""
        return self._error

    def start(self) -> None:
        """Has a thread send from now on, unless one does.

        Where the system has no thread left, messages are still written one by one.
        """
        self._process.check()
        with self._lock:
            if self._closing:
                raise ValueError("the writer is closed")
            if self._sending:
                return
            thread = threading.Thread(target=self._run, name="paged-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread, self._sending = thread, True

    def send(self, message: Message) -> bool:
        """Returns whether the message was taken.

        Otherwise it was dropped, for want of room or because the device has failed.
        """
        data = as_bytes(message, self._encoding)
        self._process.check()
        with self._lock:
            if self._closing:
                raise ValueError("the writer is closed")
            waiting = self._buffer.waiting
            has_room = self._error is None and (
                len(waiting) < self._most_waiting or self._make_room()
            )
            # Not before: a producer that waits for room has not handed its message over.
            if not has_room:
                self._buffer.refuse()
                return False
            self._buffer.append(data)
            if self._asleep:
                self._asleep = False
                self._filled.notify()
            sending = self._sending
            crowded = len(waiting) * 2 > self._most_waiting and self._overflow != "block"
        if not sending:
            self._write_one_by_one()
            return self._error is None
        if crowded:
            # To shed because the device is slow is what was asked for; to shed because this thread
            # would not let go of the interpreter for the 5 ms of its turn is not. A sleep gives it
            # away.
            time.sleep(_YIELD_S)
        return True

    def configure(
        self,
        page_size: Optional[int] = None,
        buffer: Optional[int] = None,
        overflow: Optional[str] = None,
    ) -> None:
        """Changes settings while running. Raises ``SettingError``, and changes nothing then.

        A buffer that has become too small sheds by the rule in force, except under ``block``, where
        it drains.
        """
        self._process.check()
        with self._lock:
            wanted = (
                self._page_size if page_size is None else page_size,
                self._most_waiting if buffer is None else buffer,
                self._overflow if overflow is None else overflow,
            )
            validate(*wanted)
            self._page_size, self._most_waiting, self._overflow = wanted
            while len(self._buffer.waiting) > self._most_waiting and self._overflow != "block":
                self._buffer.shed(oldest=self._overflow == "drop-oldest")
            self._emptied.notify_all()

    def stats(self) -> Stats:
        self._process.check()
        with self._lock:
            return self._buffer.stats()

    def flush(self) -> None:
        """Returns when all that was taken before is sent, shed, or lost because the device failed.

        What others send meanwhile does not keep it waiting.
        """
        self._process.check()
        me = object()
        with self._lock:
            self._buffer.wait_for_all(me)
        try:
            while self._has_to_write(me):
                self._write_one_by_one()
        finally:
            with self._lock:
                self._buffer.stop_waiting(me)

    def close(self) -> None:
        """Sends what is in the buffer, then closes the device.

        Messages sent meanwhile raise ``ValueError``.
        """
        self._process.check()
        with self._lock:
            self._closing = True
            self._filled.notify()
            self._emptied.notify_all()
        if self._thread is not None:
            self._thread.join()
        self._write_one_by_one()
        self._device.close()

    def _make_room(self) -> bool:
        """With the buffer full and the lock held: waits or sheds; whether a message may come in."""
        buffer = self._buffer
        while len(buffer.waiting) >= self._most_waiting and self._sending:
            if self._overflow == "drop-newest" or self._closing:
                return False
            if self._overflow == "drop-oldest":
                buffer.shed(oldest=True)
            else:
                self._emptied.wait()
        return self._error is None and not self._closing

    def _has_to_write(self, who: object) -> bool:
        """Waits until what ``who`` waits for is done with, or nobody sends it."""
        with self._lock:
            while self._buffer.is_awaited(who):
                if not self._sending:
                    return True
                self._emptied.wait()
        return False

    def _run(self) -> None:
        """The sending thread."""
        try:
            while self._is_filled():
                with self._turn:
                    self._write_page(direct=False)
        finally:
            with self._turn, self._lock:
                self._sending = False
                # Whatever ended the thread: what it had taken may or may not have arrived.
                self._buffer.settle(arrived=False)
                self._emptied.notify_all()

    def _is_filled(self) -> bool:
        """Waits for messages; returns whether there are any, as at the end there are not."""
        with self._lock:
            while not self._buffer.waiting and not self._closing and self._error is None:
                self._asleep = True
                self._filled.wait()
            self._asleep = False
            return bool(self._buffer.waiting)

    def _write_one_by_one(self) -> None:
        """Writes what waits, as no thread does."""
        with self._turn:
            while self._write_page(direct=True):
                pass

    def _write_page(self, *, direct: bool) -> bool:
        """With the turn: writes the next page. Returns whether there was one."""
        with self._lock:
            if not self._buffer.waiting:
                return False
            page = self._buffer.take(self._page_size, direct=direct)
            if self._overflow == "block":
                self._emptied.notify_all()
        try:
            self._device.write(b"".join(page))
        except BaseException as error:
            with self._lock:
                self._error = error
                self._buffer.lose_all()
                self._emptied.notify_all()
            if not isinstance(error, Exception):
                raise
            return False
        with self._lock:
            self._buffer.settle(arrived=True, direct=direct)
            self._emptied.notify_all()
        if self._acknowledged is not None:
            self._acknowledged(page)
        return True
