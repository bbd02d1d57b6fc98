"""Ports of this machine's loopback interface."""

import socket
from collections import deque

_LOOPBACK = "127.0.0.1"
_ANSWERS_WITHIN_S = 1.0

_given: "deque[int]" = deque(maxlen=1000)
"""The last that were given away. Until its owner listens, a port looks free to the kernel."""


def free_port() -> int:
    """A port that nobody listens on just now, and that this process has not just given away."""
    while True:
        with socket.socket() as probe:
            probe.bind((_LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.append(port)
            return port


def answers(port: int) -> bool:
    """Whether somebody listens on a port. Whoever does sees a connection that ends at once."""
    try:
        with socket.create_connection((_LOOPBACK, port), _ANSWERS_WITHIN_S):
            return True
    except OSError:
        return False
