"""What TCP connections brought to ports of this machine, counted by the kernel (Linux).

The kernel keeps, for each connection, the data segments and bytes that it has carried (``tcp_info``
of linux/tcp.h), and gives them by INET_DIAG: of those that are open when it is asked, and of each
that ends, by an event. The sum of both only rises, so a difference of two readings is what came in
between. The standard library alone: launchers import this.
"""

import ctypes
import errno
import os
import socket
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _ERROR, _DONE = 20, 2, 3
"""Kinds of messages."""
_REQUEST_DUMP = 0x301
_INFO = 2
"""The attribute that holds ``tcp_info``."""
_LISTEN = 10
_STATES = sum(1 << state for state in (1, 4, 5, 7, 8, 9, _LISTEN, 11))
"""All but those of a handshake, which have carried nothing, and TIME_WAIT, whose event was sent."""
_DESTROYED = (1, 3)
"""Groups: TCP sockets that end, of IPv4 and of IPv6."""
_NETLINK, _ADD_MEMBERSHIP = 270, 1
_ATTACH_FILTER, _BUFFER_BY_FORCE = 26, 33
_BUFFER_BYTES = 64 << 20
"""For some 100,000 connections that end between two readings, where we may have so much."""
_HEADER, _MESSAGE = struct.Struct("=IHHII"), 72
"""``nlmsghdr``, and how long ``inet_diag_msg`` is, which follows it."""
_PORT_AT, _COOKIE_AT = 4, 44
_COUNTS, _COUNTS_AT = struct.Struct("=Q16xI44xQ"), 128
"""In ``tcp_info``: bytes received, data segments in, bytes sent (from Linux 4.19 on)."""
_EVENT_WITHIN_S = 0.005
"""After the end of its connection."""


class Traffic(NamedTuple):
    """What came to a port, and went from it."""

    segments: int
    """Those with data that arrived: a request is one, unless it is long, or sent in parts."""
    bytes: int
    """To and fro."""


class _Socket(NamedTuple):
    port: int
    cookie: int
    listens: bool
    traffic: Traffic


class Connections:
    """Counts what reaches some ports, in the network namespace of this process, from now on."""

    def __init__(self, ports: Collection[int]) -> None:
        """Raises ``OSError`` where the kernel gives no such events or figures."""
        self._ports = frozenset(ports)
        self._ended = dict.fromkeys(self._ports, Traffic(0, 0))
        self._events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)
        try:
            self._events.setblocking(False)
            _select(self._events, sorted(self._ports))
            # More than the system's limit, which holds hundreds of connections, takes a capability.
            for option in (socket.SO_RCVBUF, _BUFFER_BY_FORCE):
                with suppress(PermissionError):
                    self._events.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
            self._events.bind((0, 0))
            for group in _DESTROYED:
                self._events.setsockopt(_NETLINK, _ADD_MEMBERSHIP, group)
            self.reading()
        except OSError:
            self._events.close()
            raise

    def reading(self) -> dict[int, Traffic]:
        """What has come so far, by port, of those on which somebody listens.

        Raises ``OSError`` where events were lost, now or before: the figures would be too low.
        """
        known = [one for port in self._ports for one in _dump(port)]
        time.sleep(_EVENT_WITHIN_S)
        ended = set[int]()
        try:
            while True:
                for one in _sockets(self._events.recv(1 << 16)):
                    ended.add(one.cookie)
                    self._ended[one.port] = _sum(self._ended[one.port], one.traffic)
        except BlockingIOError:
            pass  # all are read
        except OSError:
            self._events.close()
            raise
        total = {one.port: self._ended[one.port] for one in known if one.listens}
        for one in known:
            if one.port in total and not one.listens and one.cookie not in ended:
                total[one.port] = _sum(total[one.port], one.traffic)
        return total


@cache
def are_counted() -> bool:
    """Whether the kernel gives figures and events of connections here."""
    with suppress(OSError):
        return bool(Connections([1]))
    return False


def _select(events: socket.socket, ports: Collection[int]) -> None:
    """Has the kernel drop events of other ports, by a filter program of classic BPF."""
    load, equal, answer = 0x28, 0x15, 0x06
    program = [(load, 0, 0, _HEADER.size + _PORT_AT)]
    program += [(equal, len(ports) - place, 0, port) for place, port in enumerate(ports)]
    program += [(answer, 0, 0, 0), (answer, 0, 0, 0xFFFFFFFF)]
    code = b"".join(struct.pack("=HBBI", *one) for one in program)
    kept = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HP", len(program), ctypes.addressof(kept))
    events.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, described)


def _dump(port: int) -> Iterator[_Socket]:
    """The sockets of a port, open or listening. Raises ``OSError``."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asking:
            request = struct.pack(
                "=BBBBI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, _STATES
            )
            # inet_diag_sockid: ports, addresses, interface, and no cookie.
            request += struct.pack(">HH", port, 0) + bytes(36) + b"\xff" * 8
            header = (_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
            asking.send(_HEADER.pack(*header) + request)
            kinds = set[int]()
            while _DONE not in kinds:
                answer = asking.recv(1 << 16)
                yield from _sockets(answer)
                kinds = {kind for kind, _ in _messages(answer)}


def _messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of each message. Raises ``OSError`` for one that is an error."""
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
        if kind == _SOCK_DIAG_BY_FAMILY and len(message) >= _MESSAGE:
            listens, (port,) = message[1] == _LISTEN, struct.unpack_from(">H", message, _PORT_AT)
            (cookie,) = struct.unpack_from("=Q", message, _COOKIE_AT)
            yield _Socket(port, cookie, listens, Traffic(0, 0) if listens else _traffic(message))


def _traffic(message: bytes) -> Traffic:
    """What a connection has carried. Raises ``OSError`` where the kernel does not tell."""
    position = _MESSAGE
    while position + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, position)
        info = message[position + 4 : position + length]
        if kind == _INFO and len(info) >= _COUNTS_AT + _COUNTS.size:
            received, segments, sent = _COUNTS.unpack_from(info, _COUNTS_AT)
            return Traffic(segments, received + sent)
        position += (max(length, 4) + 3) & ~3
    raise OSError(errno.ENOTSUP, "the kernel counts no data segments of connections")


def _sum(one: Traffic, other: Traffic) -> Traffic:
    return Traffic(one.segments + other.segments, one.bytes + other.bytes)
