"""Quix Streams: how its application is made, and what its operators do with messages."""

import runpy
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.engines.topics import MESSAGES, MadeUpTopic
from waitbench import engines

QUIXSTREAMS = engines.named("quixstreams")


class Stream:
    """Applies operators as the real one does."""

    def __init__(self) -> None:
        self._operators: list[tuple[str, Any]] = []

    def _with(self, kind: str, function: Any) -> "Stream":
        self._operators.append((kind, function))
        return self

    def apply(self, function: Any) -> "Stream":
        return self._with("apply", function)

    def filter(self, function: Any) -> "Stream":
        return self._with("filter", function)

    def update(self, function: Any) -> "Stream":
        return self._with("update", function)

    def push(self, value: Any) -> None:
        for kind, function in self._operators:
            found = function(value)
            if kind == "filter" and not found:
                return
            if kind == "apply":
                value = found


class Application:
    """Reads all messages, unless it is stopped; then it says how many it has read."""

    def __init__(self, partition: SimpleNamespace, **settings: Any) -> None:
        self.settings = settings
        self._partition = partition
        self._stream = Stream()
        self._is_stopped = False
        self.read = 0

    def topic(self, name: str, **deserializers: str) -> tuple[str, dict[str, str]]:
        return name, deserializers

    def dataframe(self, topic: Any) -> Stream:
        assert topic == ("t", dict.fromkeys(("key_deserializer", "value_deserializer"), "bytes"))
        return self._stream

    def stop(self) -> None:
        self._is_stopped = True

    def run(self) -> None:
        for self._partition.partition, value in (*MESSAGES, (0, "behind the last")):
            if self._is_stopped:
                return
            self._stream.push(value)
            self.read += 1


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Application]:
    """The applications that are made by the carrier."""
    found: list[Application] = []
    context = SimpleNamespace(partition=0)

    def make(**settings: Any) -> Application:
        found.append(Application(context, **settings))
        return found[-1]

    library = ModuleType("quixstreams")
    library.Application = make  # type: ignore[attr-defined]
    library.message_context = lambda: context  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "quixstreams", library)
    return found


@pytest.fixture
def carrier(made: object, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "argv", ["carrier", "x.py:f()", "1", "commit_interval=0.5"])
    assert QUIXSTREAMS.carrier is not None
    return SimpleNamespace(**runpy.run_path(str(QUIXSTREAMS.carrier / "carrier.py")))


def test_items_go_through_all_steps_and_the_last_message_stops_it(
    carrier: Any, made: list[Application], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written: list[str] = []
    steps = [("upper", str.upper), ("twice", lambda text: text * 2)]
    output = SimpleNamespace(write=written.append)
    carrier.build_dataflow("", carrier.kafka_source(MadeUpTopic()), steps, lambda: output)()
    assert written == ["AA", "BB", "CC"]
    (application,) = made
    assert application.read == len(MESSAGES)
    assert list(tmp_path.iterdir()) == []


def test_it_reads_from_the_beginning_keeps_no_state_and_has_the_knobs(
    carrier: Any, made: list[Application]
) -> None:
    carrier.build_application(MadeUpTopic(), "folder")
    settings = made[0].settings
    assert (settings["broker_address"], settings["consumer_group"]) == ("127.0.0.1:9", "t")
    assert settings["consumer_extra_config"] == {"fetch.wait.max.ms": "100"}
    assert settings["auto_offset_reset"] == "earliest"
    assert settings["state_dir"] == "folder"
    assert not settings["use_changelog_topics"]
    assert not settings["auto_create_topics"]
    assert settings["commit_interval"] == 0.5


@pytest.mark.parametrize("kind", ["partitioned_source", "dynamic_source"])
def test_it_has_no_source_but_a_broker(carrier: Any, kind: str) -> None:
    with pytest.raises(ValueError, match="from a broker"):
        getattr(carrier, kind)([], None)
