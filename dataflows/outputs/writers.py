"""Two ways to hand messages to a device: ``RegularWriter``, one by one, ``PagedWriter``, in pages.

Both count what they are given, and nothing is ever lost without being counted.
"""

import threading
import time
from collections import deque
from typing import Any, Deque, Optional, Union

from .device import DeviceError
from .settings import BUFFER, OVERFLOWS, PAGE_SIZE, validate
from .stats import Stats

_YIELD_S = 0.000_001

Message = Union[str, bytes]


class RegularWriter:
    """Writes each message on its own, and waits for its acknowledgement. Any number of threads."""

    def __init__(self, device: Any, encoding: str = "utf-8") -> None:
        validate(encoding=encoding)
        self._device = device
        self._encoding = encoding
        self._lock = threading.Lock()
        self._total = self._sent = self._dropped = self._held = self._peak = 0

    def send(self, message: Message) -> bool:
        """Returns when the message is acknowledged.

        Raises ``DeviceError``; the message counts as dropped then.
        """
        data = message.encode(self._encoding) if isinstance(message, str) else message
        with self._lock:
            self._total += 1
            self._held = len(data)
            self._peak = max(self._peak, self._held)
            try:
                self._device.write(data)
                self._sent += 1
            except DeviceError:
                self._dropped += 1
                raise
            finally:
                self._held = 0
        return True

    def stats(self) -> Stats:
        in_flight = self._total - self._sent - self._dropped
        return Stats(self._total, self._sent, self._dropped, in_flight, self._held, self._peak)

    def close(self) -> None:
        self._device.close()


class PagedWriter:
    """Messages go into a bounded buffer; a thread sends them on in pages, in order.

    A page never has more than ``page_size`` bytes, unless a single message has: that one goes
    alone, after the page before it. A page leaves as soon as the device is free, full or not, so
    nothing waits for company; while the device is busy messages gather.

    With the buffer full, ``overflow`` says what gives way: the message that comes
    (``drop-newest``), the one that has waited longest (``drop-oldest``), or the producer, who waits
    (``block``). Any number of threads may send; producers in other processes have a writer and a
    connection of their own. The thread sleeps on a condition while there is nothing to send.
    """

    def __init__(
        self,
        device: Any,
        page_size: int = PAGE_SIZE,
        buffer: int = BUFFER,
        overflow: str = OVERFLOWS[0],
        encoding: str = "utf-8",
    ) -> None:
        validate(page_size, buffer, overflow, encoding)
        self._device = device
        self._page_size = page_size
        self._buffer = buffer
        self._overflow = overflow
        self._encoding = encoding
        self._queue: Deque[bytes] = deque()
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._emptied = threading.Condition(self._lock)
        self._total = self._sent = self._dropped = 0
        self._bytes = self._peak = 0
        self._under_way = 0
        self._asleep = False
        self._closing = False
        self._error: Optional[Exception] = None
        self._thread = threading.Thread(target=self._run, name="paged-writer", daemon=True)
        self._thread.start()

    @property
    def error(self) -> Optional[Exception]:
        """Why nothing is sent any more, if the device has failed."""
        return self._error

    def send(self, message: Message) -> bool:
        """Returns whether the message was taken.

        Otherwise it was dropped, for want of room or because the device has failed.
        """
        data = message.encode(self._encoding) if isinstance(message, str) else message
        with self._lock:
            if self._closing:
                raise ValueError("the writer is closed")
            queue = self._queue
            has_room = self._error is None and (len(queue) < self._buffer or self._make_room())
            # Not before: a producer that waits for room has not handed its message over.
            self._total += 1
            if not has_room:
                self._dropped += 1
                return False
            queue.append(data)
            self._bytes += len(data)
            self._peak = max(self._peak, self._bytes)
            if self._asleep:
                self._asleep = False
                self._filled.notify()
            crowded = len(queue) * 2 > self._buffer and self._overflow != "block"
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
        with self._lock:
            wanted = (
                self._page_size if page_size is None else page_size,
                self._buffer if buffer is None else buffer,
                self._overflow if overflow is None else overflow,
            )
            validate(*wanted)
            self._page_size, self._buffer, self._overflow = wanted
            while len(self._queue) > self._buffer and self._overflow != "block":
                gone = (
                    self._queue.popleft() if self._overflow == "drop-oldest" else self._queue.pop()
                )
                self._bytes -= len(gone)
                self._dropped += 1
            self._emptied.notify_all()

    def stats(self) -> Stats:
        with self._lock:
            in_flight = len(self._queue) + self._under_way
            return Stats(self._total, self._sent, self._dropped, in_flight, self._bytes, self._peak)

    def flush(self) -> None:
        """Returns when everything taken so far is sent, or dropped because the device failed."""
        with self._lock:
            while self._queue or self._under_way:
                self._emptied.wait()

    def close(self) -> None:
        """Sends what is in the buffer, then closes the device.

        Messages sent meanwhile raise ``ValueError``.
        """
        with self._lock:
            self._closing = True
            self._filled.notify()
            self._emptied.notify_all()
        self._thread.join()
        self._device.close()

    def _make_room(self) -> bool:
        """With the buffer full and the lock held: whether there is room now."""
        if self._overflow == "drop-newest":
            return False
        if self._overflow == "drop-oldest":
            self._bytes -= len(self._queue.popleft())
            self._dropped += 1
            return True
        while (
            len(self._queue) >= self._buffer
            and self._overflow == "block"
            and self._error is None
            and not self._closing
        ):
            self._emptied.wait()
        return self._error is None and not self._closing and len(self._queue) < self._buffer

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._closing:
                    self._asleep = True
                    self._filled.wait()
                self._asleep = False
                if not self._queue:
                    return
                page = self._take_page()
                size = sum(map(len, page))
                self._under_way = len(page)
                if self._overflow == "block":
                    self._emptied.notify_all()
            try:
                self._device.write(b"".join(page))
            except Exception as error:
                self._give_up(error, len(page))
                return
            with self._lock:
                self._sent += len(page)
                self._bytes -= size
                self._under_way = 0
                if not self._queue:
                    self._emptied.notify_all()

    def _take_page(self) -> "list[bytes]":
        queue, room = self._queue, self._page_size
        page = [queue.popleft()]
        room -= len(page[0])
        while queue and len(queue[0]) <= room:
            message = queue.popleft()
            room -= len(message)
            page.append(message)
        return page

    def _give_up(self, error: Exception, under_way: int) -> None:
        """The device has failed: what it had not acknowledged is lost, and is counted."""
        with self._lock:
            self._error = error
            self._dropped += under_way + len(self._queue)
            self._queue.clear()
            self._bytes = self._under_way = 0
            self._emptied.notify_all()
