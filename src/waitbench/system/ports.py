"""Ports of this machine's loopback interface."""

import socket

_LOOPBACK = "127.0.0.1"
_ANSWERS_WITHIN_S = 1.0


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens on a port. Whoever does sees a connection that ends at once."""
    try:
        with socket.create_connection((_LOOPBACK, port), _ANSWERS_WITHIN_S):
            return True
    except OSError:
        return False
