"""TCP ports: free ones, listeners, and the traffic of connections (Linux).

The kernel counts the data segments and bytes of each connection (``tcp_info`` of linux/tcp.h).
INET_DIAG reports them on request for open connections, and in an event for each closed one. The
sum of both never falls, so a later reading minus an earlier one is the traffic between them.
Standard library only, as launchers import this.
"""

import ctypes
import errno
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

LOOPBACK = "127.0.0.1"
_recent_ports: "deque[int]" = deque(maxlen=1000)
"""Recently returned ports, which the kernel takes for free until a server listens on them."""
_MOST_ATTEMPTS = 1000
_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _ERROR, _DONE = 20, 2, 3
_REQUEST_DUMP = 0x301
_INFO = 2
_LISTEN = 10
_STATES = sum(1 << state for state in (1, 4, 5, 7, 8, 9, _LISTEN, 11))
"""All states except handshakes, which have no traffic, and TIME_WAIT, whose event was sent."""
_DESTROYED_GROUPS = (1, 3)
_NETLINK, _ADD_MEMBERSHIP = 270, 1
_ATTACH_FILTER, _BUFFER_BY_FORCE = 26, 33
_BUFFER_BYTES = 64 << 20
"""Enough for some 100,000 connections that close between two readings."""
_HEADER, _MESSAGE_BYTES = struct.Struct("=IHHII"), 72
"""``nlmsghdr``, and the length of the ``inet_diag_msg`` that follows it."""
_PORT_AT, _COOKIE_AT = 4, 44
_COUNTS, _COUNTS_AT = struct.Struct("=Q16xI44xQ"), 128
"""In ``tcp_info``: bytes received, data segments in, bytes sent (since Linux 4.19)."""
_EVENT_DELAY_S = 0.005
"""The time within which the event of a closed connection arrives."""
_CONNECT_WITHIN_S = 5.0
_READ_WITHIN_S = 0.1
"""The time for a server to read a message, as a reset discards unread data."""


def free_port(part: int = 0, parts: int = 1) -> int:
    """Returns a port that nobody listens on, and that was not returned recently.

    Processes that look for ports at the same time each take another of equal ``parts`` of all, if
    that has free ports.
    """
    for _ in range(_MOST_ATTEMPTS):
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = int(probe.getsockname()[1])
        # The kernel returns odd ports only, or even ones.
        if port not in _recent_ports and port // 2 % parts == part:
            break
    _recent_ports.append(port)
    return port


def reset(port: int, message: bytes) -> None:
    """Connects to a port of this machine, sends a message, and resets the connection."""
    with socket.create_connection((LOOPBACK, port), _CONNECT_WITHIN_S) as client:
        client.sendall(message)
        time.sleep(_READ_WITHIN_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reserve_ports(count: int) -> list[socket.socket]:
    """Binds ports, so that only a server that sets ``SO_REUSEADDR`` can listen on them."""
    reserved = []
    for _ in range(count):
        reservation = socket.socket()
        reservation.bind((LOOPBACK, 0))
        # Only after bind: a second reservation of the port must fail.
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.append(reservation)
    return reserved


def is_listened_to(port: int, process: int | str = "self") -> bool:
    """Whether a TCP socket listens on a port in the network namespace of a process."""
    # Without connecting, which would be a worker's first message.
    with suppress(OSError):
        if _answers() and Path(f"/proc/{process}/ns/net").samefile("/proc/self/ns/net"):
            return any(_dump(port, 1 << _LISTEN))
    # These files list all connections, which takes milliseconds.
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            for words in map(str.split, lines):
                state, listened_port = int(words[3], 16), int(words[1].rpartition(":")[2], 16)
                if state == _LISTEN and listened_port == port:
                    return True
    return False


@cache
def _answers() -> bool:
    """Whether the kernel lists the sockets of a port."""
    with suppress(OSError):
        return any(_dump(1, 1 << _LISTEN)) or True
    return False


class Traffic(NamedTuple):
    """Traffic of one port."""

    segments: int
    """Data segments received: a request is one, unless it is long or sent in parts."""
    bytes: int
    """In both directions."""


class _Socket(NamedTuple):
    port: int
    cookie: int
    listens: bool
    traffic: Traffic


class Connections:
    """Counts the traffic of ports in the network namespace of this process, from now on."""

    def __init__(self, ports: Collection[int]) -> None:
        """Starts to count. Raises ``OSError`` if the kernel has no such events or counts."""
        self._ports = frozenset(ports)
        self._ended = dict.fromkeys(self._ports, Traffic(0, 0))
        self._events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)
        try:
            self._events.setblocking(False)
            _filter_events(self._events, sorted(self._ports))
            # Without a capability, the system's limit applies: enough for hundreds of connections.
            for option in (socket.SO_RCVBUF, _BUFFER_BY_FORCE):
                with suppress(PermissionError):
                    self._events.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
            self._events.bind((0, 0))
            for group in _DESTROYED_GROUPS:
                self._events.setsockopt(_NETLINK, _ADD_MEMBERSHIP, group)
            self.reading()
        except OSError:
            self._events.close()
            raise

    def reading(self) -> dict[int, Traffic]:
        """Returns the traffic so far of each port with a listener.

        Raises ``OSError`` if events were lost, now or before, as the figures would be too low.
        """
        open_sockets = [sock for port in self._ports for sock in _dump(port)]
        time.sleep(_EVENT_DELAY_S)
        ended = set[int]()
        try:
            while True:
                for sock in _sockets(self._events.recv(1 << 16)):
                    ended.add(sock.cookie)
                    self._ended[sock.port] = _sum(self._ended[sock.port], sock.traffic)
        except BlockingIOError:
            pass  # all are read
        except OSError:
            self._events.close()
            raise
        total = {sock.port: self._ended[sock.port] for sock in open_sockets if sock.listens}
        for sock in open_sockets:
            if sock.port in total and not sock.listens and sock.cookie not in ended:
                total[sock.port] = _sum(total[sock.port], sock.traffic)
        return total


@cache
def is_traffic_counted() -> bool:
    """Whether the kernel counts the traffic of connections for this user."""
    with suppress(OSError):
        return bool(Connections([1]))
    return False


def _filter_events(events: socket.socket, ports: Collection[int]) -> None:
    """Makes the kernel drop events of other ports, by a classic BPF filter."""
    load, equal, answer = 0x28, 0x15, 0x06
    program = [(load, 0, 0, _HEADER.size + _PORT_AT)]
    program += [(equal, len(ports) - place, 0, port) for place, port in enumerate(ports)]
    program += [(answer, 0, 0, 0), (answer, 0, 0, 0xFFFFFFFF)]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    sock_fprog = struct.pack("HP", len(program), ctypes.addressof(buffer))
    events.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, sock_fprog)


def _dump(port: int, states: int = _STATES) -> Iterator[_Socket]:
    """Yields the open sockets of a local port. Raises ``OSError`` if the kernel does not answer."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as netlink:
            request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, states)
            # inet_diag_sockid: ports, addresses, interface, and no cookie.
            request += struct.pack(">HH", port, 0) + bytes(36) + b"\xff" * 8
            header = (_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
            netlink.send(_HEADER.pack(*header) + request)
            kinds = set[int]()
            while _DONE not in kinds:
                answer = netlink.recv(1 << 16)
                yield from _sockets(answer)
                kinds = {kind for kind, _ in _messages(answer)}


def _messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the kind and content of each message. Raises ``OSError`` for an error message."""
    position = 0
    while position + _HEADER.size <= len(answer):
        length, kind, *_ = _HEADER.unpack_from(answer, position)
        content = answer[position + _HEADER.size : position + length]
        if kind == _ERROR:
            number = -struct.unpack_from("=i", content)[0]
            raise OSError(number, os.strerror(number))
        yield kind, content
        position += (max(length, _HEADER.size) + 3) & ~3


def _sockets(answer: bytes) -> Iterator[_Socket]:
    for kind, message in _messages(answer):
        if kind == _SOCK_DIAG_BY_FAMILY and len(message) >= _MESSAGE_BYTES:
            listens, (port,) = message[1] == _LISTEN, struct.unpack_from(">H", message, _PORT_AT)
            (cookie,) = struct.unpack_from("=Q", message, _COOKIE_AT)
            yield _Socket(port, cookie, listens, Traffic(0, 0) if listens else _traffic(message))


def _traffic(message: bytes) -> Traffic:
    """Reads the traffic of a connection. Raises ``OSError`` if the kernel gives no figures."""
    position = _MESSAGE_BYTES
    while position + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, position)
        info = message[position + 4 : position + length]
        if kind == _INFO and len(info) >= _COUNTS_AT + _COUNTS.size:
            received, segments, sent = _COUNTS.unpack_from(info, _COUNTS_AT)
            return Traffic(segments, received + sent)
        position += (max(length, 4) + 3) & ~3
    raise OSError(errno.ENOTSUP, "the kernel counts no data segments of connections")


def _sum(first: Traffic, second: Traffic) -> Traffic:
    return Traffic(first.segments + second.segments, first.bytes + second.bytes)
