"""Ports of this machine's loopback interface."""

import socket
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LISTENS, _IS_OPEN = "0A", "01"
"""States of a socket in ``/proc/net/tcp``: it listens, or is connected."""

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
    return any(state == _LISTENS and local == port for local, _, state, _ in _tcp_sockets(process))


def ports_of(process: int) -> tuple[set[int], set[int]]:
    """The ports that a process listens on, and those of others that it is connected to (Linux)."""
    own = set()
    with suppress(OSError):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                own.add(str(descriptor.readlink()))
    found = [one for one in _tcp_sockets(process) if f"socket:[{one[3]}]" in own]
    listening = {local for local, _, state, _ in found if state == _LISTENS}
    asked = {to for local, to, state, _ in found if state == _IS_OPEN and local not in listening}
    return listening, asked


def _tcp_sockets(process: int | str) -> Iterator[tuple[int, int, str, str]]:
    """The port, the port at the other end, state and inode of each."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            for words in map(str.split, lines):
                local, remote = (int(one.rpartition(":")[2], 16) for one in words[1:3])
                yield local, remote, words[3], words[9]
