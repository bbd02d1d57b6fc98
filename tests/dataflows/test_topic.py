"""A topic as a worker reads it, beside a made-up producer; and what the real one sends when."""

import socket
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from support import probe, topic
from support.topic import Settings, Topic


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What a worker tells a producer that has the topic ``t``."""
    found: list[bytes] = []

    def serve() -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as file:
            for line in file:
                found.append(line)
                if line == b"TOPIC\n":
                    connection.sendall(b"127.0.0.1:9 t\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv(topic.URL_VARIABLE, f"http://127.0.0.1:{server.getsockname()[1]}")
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        for name in ("_sources", "_sinks"):
            monkeypatch.setattr(probe, name, [])
        for name in ("_first_poll", "_end_of_input"):
            monkeypatch.setattr(probe, name, None)
        monkeypatch.setattr("atexit.register", lambda _call: None)
        yield found


def message(ident: int, due_ns: int = 5, digit: int = 7) -> bytes:
    return topic._MESSAGE.pack(ident, due_ns, digit)


def test_items_are_counted_and_marks_are_none(lines: list[bytes]) -> None:
    found = Topic(2, Settings(100, 10))
    assert (found.broker, found.name) == ("127.0.0.1:9", "t")
    assert found.settings.client == {"fetch.wait.max.ms": "100"}
    first, second = found.partition(0), found.partition(1)
    assert first.got(message(-1)) is None
    before = probe.report()["first_poll"]
    assert second.got(message(-1)) is None
    report = probe.report()
    assert report["first_poll"]["monotonic_ns"] > before["monotonic_ns"]
    assert [first.got(message(ident)) for ident in (3, 4)] == [(3, 5, 7), (4, 5, 7)]
    assert not found.is_over
    assert first.got(message(-2)) is None
    assert (first.is_over, second.is_over, found.is_over) == (True, False, False)
    second.got(message(-2))
    assert found.is_over
    report = probe.report()
    assert (report["items_in"], report["ident_sum_in"], report["polls"]) == (2, 7, None)
    assert report["end_of_input"]
    found._producer.close()
    while len(lines) < 3:
        pass
    assert lines == [b"TOPIC\n", b"READ 0\n", b"READ 1\n"]


def test_without_a_producer_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(topic.URL_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="BENCH_SERVICE_URL"):
        Topic(1, Settings(1, 1))


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the producer, without the library that it sends by."""
    library, admin = ModuleType("confluent_kafka"), ModuleType("confluent_kafka.admin")
    for name in ("KafkaError", "KafkaException", "Producer"):
        setattr(library, name, type(name, (Exception,), {}))
    for name in ("AdminClient", "NewTopic"):
        setattr(admin, name, object)
    monkeypatch.setitem(sys.modules, "confluent_kafka", library)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", admin)
    monkeypatch.delitem(sys.modules, "services.kafka.producer", raising=False)
    from services.kafka import producer as found

    yield found
    sys.modules.pop("services.kafka.producer", None)


def sent(producer: Any, **changes: Any) -> list[tuple[float, int, int]]:
    """Seconds, partition and identity of each message."""
    usual = {
        "partitions": 2, "items": 3, "interval_s": 0.5, "burst": 1, "idle_s": 0.0, "silent": 0,
        "seed": 1,
    }  # fmt: skip
    schedule = producer.Schedule(**{**usual, **changes})
    return [(due_ns / 1e9, number, ident) for due_ns, number, ident, _ in schedule.messages()]


def test_messages_are_sent_by_time_and_each_partition_has_an_end(producer: Any) -> None:
    end = producer.END
    assert sent(producer) == [
        (0.5, 0, 0), (0.5, 1, 3), (1.0, 0, 1), (1.0, 1, 4), (1.5, 0, 2), (1.5, 0, end),
        (1.5, 1, 5), (1.5, 1, end),
    ]  # fmt: skip
    assert sent(producer, items=0, idle_s=5.0) == [(5.0, 0, end), (5.0, 1, end)]
    assert sent(producer, items=2, burst=2, idle_s=1.0)[-2:] == [(1.5, 0, end), (1.5, 1, end)]
    assert sent(producer, items=1, interval_s=0, silent=1, idle_s=2.0) == [
        (0.0, 0, 0), (0.0, 0, end), (2.0, 1, end)
    ]  # fmt: skip


def test_both_ends_agree_on_a_message(producer: Any) -> None:
    assert (producer.MESSAGE.format, producer.BEGIN) == (topic._MESSAGE.format, topic._BEGIN)
