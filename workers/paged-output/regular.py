"""A writer that hands messages to a device one by one, and waits for each."""

import threading
from collections.abc import Callable
from typing import Any, Optional

from messages import Message, OneProcess, as_bytes
from settings import validate
from stats import Stats


class RegularWriter:
    """Writes each message on its own, and waits for its acknowledgement. Any number of threads.

    ``acknowledged`` is called with what the device has acknowledged: a list of one message.
    """

    def __init__(
        self,
        device: Any,
        encoding: str = "utf-8",
        acknowledged: Optional[Callable[[list[bytes]], None]] = None,
    ) -> None:
        validate(encoding=encoding)
        self._device = device
        self._encoding = encoding
        self._acknowledged = acknowledged
        self._process = OneProcess()
        self._turn = threading.Lock()
        """Held by whoever talks to the device."""
        self._lock = threading.Lock()
        """Held while counts change."""
        self._total = self._sent = self._dropped = self._held = self._peak = 0

    def send(self, message: Message) -> bool:
        """Returns when the message is acknowledged.

        Whatever the device raises is passed on; the message counts as dropped then.
        """
        data = as_bytes(message, self._encoding)
        self._process.check()
        with self._turn:
            with self._lock:
                self._total += 1
                self._held = len(data)
                self._peak = max(self._peak, self._held)
            taken = False
            try:
                self._device.write(data)
                taken = True
            finally:
                with self._lock:
                    self._sent += taken
                    self._dropped += not taken
                    self._held = 0
            if self._acknowledged is not None:
                self._acknowledged([data])
        return True

    def stats(self) -> Stats:
        self._process.check()
        with self._lock:
            return Stats(
                total=self._total,
                sent=self._sent,
                dropped=self._dropped,
                in_flight=self._total - self._sent - self._dropped,
                direct=self._sent,
                bytes_held=self._held,
                bytes_held_peak=self._peak,
            )

    def close(self) -> None:
        self._device.close()
