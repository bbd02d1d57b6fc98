"""A load of clients: what is put on a service, and what is kept of it."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.families.embedding.loads import one_load
from tests.services.plans import plan
from waitbench.execution import services
from waitbench.execution.services import running
from waitbench.families import embedding
from waitbench.families.embedding import load
from waitbench.families.embedding.kept import ModeLoad
from waitbench.families.embedding.load import LoadOptions, put_load
from waitbench.model.errors import ExitCode, HarnessError, UsageError

OPTIONS = LoadOptions(
    modes=("direct", "proxy-adaptive"),
    connections=1,
    duration_s=1.0,
    inputs=2,
    call_cost_ms=0.0,
    rounds=1,
    url=None,
)


@pytest.fixture
def without_oha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)


@pytest.fixture
def output() -> Console:
    return Console(file=io.StringIO(), width=80)


def printed(output: Console) -> str:
    assert isinstance(output.file, io.StringIO)
    return output.file.getvalue()


@pytest.mark.integration
@pytest.mark.usefixtures("without_oha")
@pytest.mark.parametrize("mode", embedding.MODES)
def test_a_load_of_clients_gets_each_its_own_vectors(
    services_python: Path, tmp_path: Path, mode: str
) -> None:
    with running(services_python, embedding.plan(mode), tmp_path) as found:
        questions = load.prepare(found.url, found.urls[0], inputs=2)
        before = found.counters()
        seen = load.put(found.url, questions, connections=50, duration_s=1.0)
        assert set(seen.statuses) == {"200"}
        assert seen.checked > 0
        assert seen.wrong == 0
        calls = {key: count - before[key] for key, count in found.counters().items()}
    assert set(calls) == (set() if mode == "direct" else {"upstream_calls"})
    if mode == "proxy-fixed":
        assert 0 < calls["upstream_calls"] < seen.answered / 4, (
            "fifty clients fill batches of eight"
        )


@pytest.mark.integration
def test_a_service_is_asked_no_more_at_once_than_it_takes(
    services_python: Path, tmp_path: Path
) -> None:
    small = plan(embedder={"MAX_CLIENT_BATCH_SIZE": "5"})
    with running(services_python, small, tmp_path) as found:
        questions = load.prepare(found.url, found.urls[0], inputs=2)
    assert [len(vectors) for vectors in questions.expected] == [2] * len(questions.texts)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(HarnessError, match=r"http://127\.0\.0\.1:9/info does not answer"):
        load.prepare("http://127.0.0.1:9", "http://127.0.0.1:9")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Loads that succeed at once, without services; the modes in the order in which they came."""
    order: list[str] = []

    def load_mode(mode: str, *_others: object) -> ModeLoad:
        order.append(mode)
        return one_load(0.010, 10)

    monkeypatch.setattr(load, "_load_mode", load_mode)
    monkeypatch.setattr(services, "make_environment", lambda *_: Path("python"))
    return order


def test_each_round_begins_with_another_mode(
    loaded: list[str], tmp_path: Path, output: Console
) -> None:
    assert put_load(replace(OPTIONS, rounds=3), tmp_path / "new", output) is ExitCode.OK
    assert loaded == [
        "direct",
        "proxy-adaptive",
        "proxy-adaptive",
        "direct",
        "direct",
        "proxy-adaptive",
    ]
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"load.json", "embedding-load.png"}
    assert "Medians of 3 loads each" in printed(output)
    assert "load.json, embedding-load.png" in printed(output)


def test_finished_rounds_are_kept_when_a_later_one_fails(
    loaded: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: Console
) -> None:
    def load_mode(mode: str, *_others: object) -> ModeLoad:
        loaded.append(mode)
        if len(loaded) == 4:
            raise HarnessError("the service died")
        return one_load(0.010, 10)

    monkeypatch.setattr(load, "_load_mode", load_mode)
    with pytest.raises(HarnessError, match="the service died"):
        put_load(replace(OPTIONS, rounds=3), tmp_path, output)
    kept = json.loads((tmp_path / "load.json").read_text())["modes"]
    assert {mode: figures["rounds"] for mode, figures in kept.items()} == {
        "direct": 1,
        "proxy-adaptive": 1,
    }


@pytest.mark.usefixtures("loaded")
def test_a_second_load_overwrites_nothing(tmp_path: Path, output: Console) -> None:
    put_load(OPTIONS, tmp_path, output)
    before = (tmp_path / "load.json").read_bytes()
    with pytest.raises(UsageError, match="is not empty"):
        put_load(OPTIONS, tmp_path, output)
    assert (tmp_path / "load.json").read_bytes() == before


def test_a_load_with_a_failed_request_fails(
    loaded: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: Console
) -> None:
    monkeypatch.setattr(load, "_load_mode", lambda *_: one_load(0.010, 10, failed=1))
    assert put_load(OPTIONS, tmp_path, output) is ExitCode.FAILED
    assert "90.91%" in printed(output)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"modes": ("sideways",)}, "--mode 'sideways' is not one of: direct, proxy-fixed"),
        ({"connections": 0}, "--connections 0: must be above zero"),
        ({"duration_s": -1.5}, r"--duration -1\.5: must be above zero"),
        ({"duration_s": float("nan")}, "--duration nan: must be above zero"),
        ({"duration_s": float("inf")}, "--duration inf: must be above zero, and at most 1,000,000"),
        ({"connections": 10**9}, "--connections 1000000000: must be .*, and at most 60,000"),
        ({"inputs": 10**400}, "--inputs 1.*: must be above zero, and at most 100,000"),
        ({"rounds": 10**9}, "--rounds 1000000000: must be above zero, and at most 100,000"),
        ({"inputs": 0}, "--inputs 0: must be above zero"),
        ({"rounds": 0}, "--rounds 0: must be above zero"),
        ({"call_cost_ms": -1.0}, "--call-cost -1: must not be negative"),
        ({"call_cost_ms": float("inf")}, "--call-cost inf: .* at most 1,000,000"),
        ({"call_cost_ms": float("nan")}, "--call-cost nan: must not be negative"),
        ({"url": "localhost"}, "--url 'localhost' is not a valid URL"),
    ],
)
@pytest.mark.usefixtures("loaded")
def test_what_cannot_be_meant_is_refused_before_anything_is_created(
    tmp_path: Path, output: Console, change: dict[str, object], said: str
) -> None:
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match=said):
        put_load(replace(OPTIONS, **change), folder, output)  # type: ignore[arg-type]
    assert not folder.exists()
