"""Ports of this machine's loopback interface."""

import socket
from collections import deque
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENS = "0A"
"""The state of a socket in ``/proc/net/tcp`` that listens."""

_given: "deque[int]" = deque(maxlen=1000)
"""The last that were given away. Until its owner listens, a port looks free to the kernel."""


def free_port() -> int:
    """A port that nobody listens on just now, and that this process has not just given away."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.append(port)
            return port


def reserve_ports(count: int) -> list[socket.socket]:
    """Sockets of ports that nobody else is given while these are open (Linux).

    They do not listen: whoever sets ``SO_REUSEADDR``, as servers do, can listen on their ports, and
    an outgoing connection gets none of them.
    """
    reserved = []
    for _ in range(count):
        one = socket.socket()
        one.bind((LOOPBACK, 0))
        # Not before: of two who reserve a port, the second must fail.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.append(one)
    return reserved


def is_listened_to(port: int, process: int | str = "self") -> bool:
    """Whether a TCP socket listens on a port in the network namespace of a process (Linux).

    The kernel is asked. A connection would be a worker's first message.
    """
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            for words in map(str.split, lines):
                if words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                    return True
    return False
