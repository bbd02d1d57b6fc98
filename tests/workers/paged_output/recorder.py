"""A device that remembers."""

import threading

from device import DeviceError


class Recorder:
    """A device that keeps what it is given, and can be held up or made to fail."""

    def __init__(self) -> None:
        self.pages: list[bytes] = []
        self.free = threading.Event()
        self.free.set()
        self.fails_after: int | None = None
        self.closed = False

    def write(self, data: bytes) -> None:
        self.free.wait(30)
        if self.fails_after is not None and len(self.pages) >= self.fails_after:
            raise DeviceError("out of paper")
        self.pages.append(data)

    def close(self) -> None:
        self.closed = True


def held_up() -> Recorder:
    device = Recorder()
    device.free.clear()
    return device
