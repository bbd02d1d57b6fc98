"""TCP ports: which are free, who listens, and what reached them by the kernel's count."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from waitbench.system import tcp
from waitbench.system.tcp import Connections, Traffic


def test_a_port_is_not_given_away_twice_before_its_owner_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered: Iterator[int] = iter([40_001, 40_001, 40_001, 40_002, 40_001, 40_003])

    class Offering(socket.socket):
        def bind(self, _address: object) -> None:
            pass

        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", next(offered)

    monkeypatch.setattr(socket, "socket", Offering)
    assert [tcp.free_port() for _ in range(3)] == [40_001, 40_002, 40_003]


def test_processes_that_look_at_the_same_time_take_different_ports() -> None:
    ports = [{tcp.free_port(part, 3) for _ in range(50)} for part in range(3)]
    assert [len(it) for it in ports] == [50, 50, 50]
    assert len(set.union(*ports)) == 150


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_who_listens_on_a_port_is_seen_without_a_connection(address: str) -> None:
    port = tcp.free_port()
    assert not tcp.is_listened_to(port)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as server:
        try:
            server.bind((address, port))
        except OSError:
            pytest.skip(f"nobody can listen at {address} here")
        assert not tcp.is_listened_to(port)
        server.listen()
        assert tcp.is_listened_to(port)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not tcp.is_listened_to(port)


COUNT = 1000
REQUEST, ANSWER = b"x" * 10, b"y" * 100


def counted(*watched: int) -> Connections:
    try:
        return Connections(watched)
    except OSError as error:
        pytest.skip(f"the kernel does not count here: {error}")


@contextmanager
def serving(family: socket.AddressFamily = socket.AF_INET) -> Iterator[int]:
    """A server that answers each request, and its port."""
    address = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.create_server((address, 0), family=family, backlog=128) as server:

        def answer(connection: socket.socket) -> None:
            with connection:
                while connection.recv(len(REQUEST), socket.MSG_WAITALL):
                    connection.sendall(ANSWER)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def ask(client: socket.socket, times: int = 1) -> None:
    for _ in range(times):
        client.sendall(REQUEST)
        assert client.recv(len(ANSWER), socket.MSG_WAITALL) == ANSWER


def rise(before: Traffic, after: Traffic) -> Traffic:
    return Traffic(after.segments - before.segments, after.bytes - before.bytes)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_each_request_of_a_connection_that_stays_is_counted(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with serving(family) as port, socket.create_connection((address, port)) as client:
        counter = counted(port)
        ask(client, 7)
        before = counter.reading()[port]
        ask(client, COUNT)
        exact = Traffic(COUNT, COUNT * (len(REQUEST) + len(ANSWER)))
        assert rise(before, counter.reading()[port]) == exact
        assert rise(before, counter.reading()[port]) == exact, "a reading is no request"


def test_each_connection_that_came_and_went_is_counted_and_none_of_another_port() -> None:
    with serving() as port, serving() as other:
        counter = counted(port)
        before = counter.reading()[port]
        with socket.create_connection(("127.0.0.1", port)) as stays:
            ask(stays)
            for _ in range(COUNT):
                for to in (port, other):
                    with socket.create_connection(("127.0.0.1", to)) as client:
                        ask(client)
            after = counter.reading()
        assert [*after] == [port]
        # The end of a connection counts as a byte.
        segments, size = rise(before, after[port])
        assert segments == COUNT + 1
        assert 0 <= size - (COUNT + 1) * (len(REQUEST) + len(ANSWER)) <= COUNT + 1
        assert rise(before, counter.reading()[port]).segments == COUNT + 1, "when it has ended, too"


def test_a_port_that_nobody_listens_on_has_no_figures() -> None:
    assert counted(tcp.free_port()).reading() == {}


def test_where_events_are_lost_there_is_no_figure_rather_than_a_low_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "_BUFFER_BYTES", 1)
    with serving() as port:
        counter = counted(port)
        counter._events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(COUNT):
            with socket.create_connection(("127.0.0.1", port)) as client:
                ask(client)
        with pytest.raises(OSError, match=r"No buffer space"):
            counter.reading()
        with pytest.raises(OSError, match=r"\S"):
            counter.reading()
