"""faust: how its application is made, and what its agent does with messages."""

import asyncio
import runpy
import sys
from collections.abc import AsyncIterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.engines.topics import MESSAGES, MadeUpTopic
from waitbench import engines

FAUST = engines.named("faust")


class Stream:
    """All messages; it ends when it is told, and else not before a message behind the last."""

    def __init__(self) -> None:
        self.is_over = False
        self.read = 0

    async def events(self) -> AsyncIterator[Any]:
        for partition, value in (*MESSAGES, (0, "behind the last")):
            await asyncio.sleep(0)  # so that whatever was begun runs
            if self.is_over:
                return
            yield SimpleNamespace(message=SimpleNamespace(partition=partition), value=value)
            self.read += 1

    async def stop(self) -> None:
        self.is_over = True


@pytest.fixture
def carrier(monkeypatch: pytest.MonkeyPatch) -> Any:
    library = ModuleType("faust")
    library.App = lambda name, **settings: (name, settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "faust", library)
    monkeypatch.setattr(sys, "argv", ["carrier", "x.py:f()", "1", "broker_commit_interval=0.5"])
    assert FAUST.carrier is not None
    return SimpleNamespace(**runpy.run_path(str(FAUST.carrier / "carrier.py")))


def test_items_go_through_all_steps_and_the_last_message_stops_it(carrier: Any) -> None:
    written: list[str] = []
    stream = Stream()
    agent = carrier.build_agent(
        carrier.kafka_source(MadeUpTopic()),
        [str.upper, lambda text: text * 2],
        written.append,
        stream.stop,
    )
    asyncio.run(agent(stream))
    assert written == ["AA", "BB", "CC"]
    assert stream.read == len(MESSAGES)


def test_it_reads_from_the_beginning_makes_nothing_and_has_the_knobs(carrier: Any) -> None:
    name, settings = carrier.build_app(MadeUpTopic(), "folder")
    assert (name, settings["broker"]) == ("t", "kafka://127.0.0.1:9")
    assert settings["consumer_auto_offset_reset"] == "earliest"
    assert settings["broker_max_poll_records"] == 10
    assert settings["datadir"] == "folder"
    assert not settings["topic_allow_declare"]
    assert settings["topic_disable_leader"]
    assert not settings["web_enabled"]
    assert settings["broker_commit_interval"] == 0.5
