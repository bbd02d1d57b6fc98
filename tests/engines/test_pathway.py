"""Pathway: how it is started, and what its carrier does where nothing of Pathway is needed."""

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from waitbench import engines
from waitbench.families import selection
from waitbench.model.environment import Environment, Facts
from waitbench.model.scenario import ALARM, NEXT_AWAKE, WINDOW, Topology

PATHWAY = engines.named("pathway")


class Connector:
    """What stands in for Pathway's own class of subjects."""

    def __init__(self) -> None:
        self.given: list[Mapping[str, Any]] = []
        self.commits = 0

    def next(self, **values: Any) -> None:
        self.given.append(values)

    def commit(self) -> None:
        self.commits += 1


class Reader:
    """Has two items, each after one "nothing yet"."""

    def __init__(self) -> None:
        self._said: list[Any] = [None, (7, 70, 1), None, (8, 80, 2)]
        self.is_over = False
        self.wait_s = 0.0

    def next_item(self) -> Any:
        if self._said:
            return self._said.pop(0)
        self.is_over = True
        return None


@pytest.fixture
def carrier(monkeypatch: pytest.MonkeyPatch) -> Any:
    standing_in = ModuleType("pathway")
    standing_in.Schema = object  # type: ignore[attr-defined]
    standing_in.column_definition = lambda **_: None  # type: ignore[attr-defined]
    python = SimpleNamespace(ConnectorSubject=Connector)
    standing_in.io = SimpleNamespace(python=python)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pathway", standing_in)
    assert PATHWAY.carrier is not None
    return SimpleNamespace(**runpy.run_path(str(PATHWAY.carrier / "carrier.py")))


def start(settings: Mapping[str, str]) -> Any:
    facts = Facts(
        python="3.11.7", package_version="0", extensions={}, package_sha256="", requirements=(),
        compiler=None, capabilities=frozenset(),
    )  # fmt: skip
    (scenario,) = selection.select(("partitioned-idle",), ())
    environment = Environment(Path("/environment"), PATHWAY.name, facts, settings)
    return PATHWAY.start(environment, scenario, Topology("single"))


def test_it_is_told_how_often_to_commit_and_has_one_worker_in_one_process() -> None:
    assert start({}).arguments[-3:] == ("1", "autocommit_ms=1500", "commit_each=0")
    assert start({"autocommit_ms": "10"}).arguments[-3:-1] == ("1", "autocommit_ms=10")
    assert start({}).processes == 1
    assert start({}).variables == {"PATHWAY_THREADS": "1", "PATHWAY_PROCESSES": "1"}


def test_it_holds_windows_and_cannot_be_asked_for_an_alarm(carrier: Any) -> None:
    capabilities = PATHWAY.traits(Path("nowhere")).capabilities
    assert {WINDOW, NEXT_AWAKE} <= capabilities
    assert ALARM not in capabilities
    with pytest.raises(ValueError):
        carrier.build_dataflow("", list, [], lambda: None, carrier.Alarm(str, 1.0))


def test_a_source_gives_each_item_once_and_ends(carrier: Any) -> None:
    for commits_each, commits in ((False, 0), (True, 2)):
        subject = carrier.Subject(Reader(), commits_each=commits_each)
        subject.run()
        assert subject.given == [
            {"ident": 7, "item": (7, 70, 1)}, {"ident": 8, "item": (8, 80, 2)}
        ]  # fmt: skip
        assert subject.commits == commits


def test_what_is_added_is_written_and_what_is_taken_back_is_an_error(carrier: Any) -> None:
    written: list[str] = []
    changed = carrier.on_change(written.append)
    changed(key=1, row={"item": "a"}, time=2, is_addition=True)
    assert written == ["a"]
    with pytest.raises(RuntimeError):
        changed(key=1, row={"item": "a"}, time=4, is_addition=False)
    assert written == ["a"]
