"""A device that remembers."""

import threading

from paged import PagedWriter

from tests.waiting import until


class Recorder:
    """A device that keeps what it is given, and can be held up or made to fail."""

    def __init__(self, error: BaseException | None = None, fails_after: int = 0) -> None:
        self.pages: list[bytes] = []
        self.free = threading.Event()
        self.free.set()
        self.closed = False
        self._error = error
        self._fails_after = fails_after

    def write(self, data: bytes) -> None:
        self.free.wait(30)
        if self._error is not None and len(self.pages) >= self._fails_after:
            raise self._error
        self.pages.append(data)

    def close(self) -> None:
        self.closed = True


def held_up(*messages: bytes, **settings: object) -> tuple[Recorder, PagedWriter]:
    """A writer whose device is busy with the first message, while the others wait."""
    device = Recorder()
    device.free.clear()
    writer = PagedWriter(device, **settings)  # type: ignore[arg-type]
    writer.send(messages[0])
    until(lambda: writer.stats().in_flight == 1 and not writer._buffer.waiting)
    for message in messages[1:]:
        writer.send(message)
    return device, writer
