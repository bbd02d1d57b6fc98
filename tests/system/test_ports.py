"""Ports that are free, for those who will listen a little later."""

import socket
from collections.abc import Iterator

import pytest

from waitbench.system import tcp


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
