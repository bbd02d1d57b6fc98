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


def test_a_port_that_is_given_away_is_free() -> None:
    assert not ports.answers(ports.free_port())
