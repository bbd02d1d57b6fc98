"""Ports that are free, for those who will listen a little later."""

import socket
from collections.abc import Iterator

import pytest

from waitbench.system import ports


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
    assert [ports.free_port() for _ in range(3)] == [40_001, 40_002, 40_003]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_who_listens_on_a_port_is_seen_without_a_connection(address: str) -> None:
    port = ports.free_port()
    assert not ports.is_listened_to(port)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as server:
        try:
            server.bind((address, port))
        except OSError:
            pytest.skip(f"nobody can listen at {address} here")
        assert not ports.is_listened_to(port)
        server.listen()
        assert ports.is_listened_to(port)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not ports.is_listened_to(port)
