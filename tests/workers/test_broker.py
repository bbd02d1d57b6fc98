"""The broker of the worker files in workers/kafka: what it takes, and how a topic is made."""

import socket
import struct
import sys
import threading

import pytest

from tests.running import run
from waitbench.system.paths import WORKERS

BROKER = (sys.executable, WORKERS / "kafka" / "broker.py")
ALREADY_EXISTS, INVALID_REPLICATION = 36, 38


@pytest.mark.parametrize(
    ("code", "returns"), [(0, 0), (ALREADY_EXISTS, 0), (INVALID_REPLICATION, 1)]
)
def test_a_topic_is_asked_for_in_kafkas_protocol(code: int, returns: int) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as file:
                seen.append(file.read(struct.unpack(">i", file.read(4))[0]))
                topic = struct.pack(">h8shh", 8, b"messages", code, -1)
                body = struct.pack(">iii", 1, 0, 1) + topic
                connection.sendall(struct.pack(">i", len(body)) + body)

        thread = threading.Thread(target=answer)
        thread.start()
        port = str(server.getsockname()[1])
        done = run(*BROKER, "topic", port)
        thread.join()
    assert done.returncode == returns, done.stderr
    assert b"messages" in seen[0]
    assert run(*BROKER, "topic", port).returncode == 1, "without a broker there is no topic"
