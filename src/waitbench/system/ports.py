"""Ports of the loopback interface."""

import socket
from collections import deque
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTEN_STATE = "0A"
_given: "deque[int]" = deque(maxlen=1000)
"""Recently returned ports: until its owner listens, a port looks free to the kernel."""


def free_port() -> int:
    """Returns a port without a listener, not returned recently by this process."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.append(port)
            return port


def reserve_ports(count: int) -> list[socket.socket]:
    """Binds ports so that nobody gets them but a server that sets ``SO_REUSEADDR`` (Linux)."""
    reserved = []
    for _ in range(count):
        reservation = socket.socket()
        reservation.bind((LOOPBACK, 0))
        # Only after bind: a second reservation of the port must fail.
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.append(reservation)
    return reserved


def is_listened_to(port: int, process: int | str = "self") -> bool:
    """Whether a TCP socket listens on a port in the network namespace of a process (Linux)."""
    # Not by a connection, which would be a worker's first message.
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            for words in map(str.split, lines):
                if words[3] == _LISTEN_STATE and int(words[1].rpartition(":")[2], 16) == port:
                    return True
    return False
