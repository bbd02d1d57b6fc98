"""A load of clients: what is put on a service, and what is kept of it."""

import io
import json
import math
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from waitbench.execution.services import running
from waitbench.families.embedding import load
from waitbench.families.embedding import scenarios as embedding
from waitbench.families.embedding.command import LoadOptions, ModeLoad, put_load, summarize
from waitbench.families.embedding.load import Load
from waitbench.families.embedding.report import tables
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import ServicePlan
from waitbench.store.results import Contents


@pytest.mark.integration
@pytest.mark.parametrize("mode", embedding.MODES)
def test_a_load_of_clients_gets_each_its_own_vectors(
    services_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr("waitbench.families.embedding.load.shutil.which", lambda _name: None)
    with running(services_python, embedding.plan(mode, 0), tmp_path) as found:
        questions = load.prepare(found.url, found.embedder_url, inputs=2)
        before = found.upstream_calls()
        seen = load.run(found.url, questions, connections=50, duration_s=1.0)
        assert set(seen.statuses) == {"200"}
        assert seen.checked > 0
        assert seen.wrong == 0
        after = found.upstream_calls()
        if mode == "proxy-fixed":
            assert before is not None
            assert after is not None
            assert 0 < after - before < seen.answered / 4, "fifty clients fill batches of eight"


@pytest.mark.integration
def test_a_service_is_asked_no_more_at_once_than_it_takes(services_python: Path, tmp_path: Path) -> None:
    with running(services_python, ServicePlan({"MAX_CLIENT_BATCH_SIZE": "5"}, None), tmp_path) as found:
        questions = load.prepare(found.url, found.embedder_url, inputs=2)
    assert [len(vectors) for vectors in questions.expected] == [2] * len(questions.texts)


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(HarnessError, match=r"http://127.0.0.1:9/info does not answer"):
        load.prepare("http://127.0.0.1:9", "http://127.0.0.1:9")


def _round(fastest_s: float, answered: int, failed: int = 0) -> ModeLoad:
    seen = Load("asyncio", 10.0, [fastest_s] * answered, Counter({"200": answered}), checked=2)
    if failed:
        seen.statuses["503"] = failed
    seen.percentiles_s = {"min": fastest_s, "mean": 0.5, "50%": 0.5, "90%": 0.6, "99%": 0.7, "max": 1.0}
    return ModeLoad(seen, {"embedder": 1.0}, None)


def test_of_several_rounds_medians_are_kept_and_counts_are_added() -> None:
    kept = summarize([_round(0.010, 100), _round(0.030, 300), _round(0.011, 200, failed=6)])
    assert kept["requests_per_s"] == 20
    assert kept["percentiles_s"]["min"] == 0.011
    assert kept["fastest_s"] == [0.010, 0.030, 0.011]
    assert kept["success_rate"] == pytest.approx(600 / 606)
    assert (kept["statuses"], kept["upstream_calls"], kept["checked"]) == ({"200": 600, "503": 6}, 600, 6)
    assert kept["cpu_s"] == {"embedder": 3.0}
    assert math.isclose(kept["duration_s"], 30)


def test_the_fastest_answer_is_held_against_directs_of_the_same_round() -> None:
    loads = {
        "direct": summarize([_round(0.010, 10), _round(0.020, 10), _round(0.001, 10)]),
        "proxy-adaptive": summarize([_round(0.011, 10), _round(0.030, 10), _round(0.009, 10)]),
    }
    (table,) = tables(Contents(loads=json.loads(json.dumps(loads))))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["fastest, ms"] == ("10.0", "11.0")
    assert rows["… of each round"] == ("1.0–20.0", "9.0–30.0")
    assert [row[1:] for row in table.rows if row[0] == "… against direct"][1] == ("× 1.00", "× 1.50")


def test_finished_rounds_are_kept_when_a_later_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def one(mode: str, *_others: object) -> ModeLoad:
        order.append(mode)
        if len(order) == 4:
            raise HarnessError("the service died")
        return _round(0.010, 10)

    monkeypatch.setattr("waitbench.families.embedding.command._one", one)
    monkeypatch.setattr("waitbench.execution.services.make_environment", lambda *_: Path("python"))
    options = LoadOptions(("direct", "proxy-adaptive"), 1, 1.0, 2, 0.0, 3, None, tmp_path)
    with pytest.raises(HarnessError, match="the service died"):
        put_load(options, Console(file=io.StringIO()))
    assert order == ["direct", "proxy-adaptive", "proxy-adaptive", "direct"], "each round begins with another mode"
    kept = json.loads((tmp_path / "load.json").read_text())["modes"]
    assert {mode: load["rounds"] for mode, load in kept.items()} == {"direct": 1, "proxy-adaptive": 1}


def test_a_load_kept_by_an_earlier_version_is_still_shown() -> None:
    earlier = summarize([_round(0.010, 10)])
    del earlier["fastest_s"], earlier["rounds"]
    (table,) = tables(Contents(loads={"direct": earlier}))
    assert ("… of each round", "–") in table.rows


OHA = {
    "summary": {"total": 10.0, "fastest": 0.001, "average": 0.04, "slowest": 0.2},
    "latencyPercentiles": {"p50": 0.039, "p90": 0.05, "p99": 0.1},
    "statusCodeDistribution": {"200": 4000, "429": 3},
    "errorDistribution": {"aborted due to deadline": 200, "connection refused": 2},
}


def test_ohas_output_is_understood() -> None:
    seen = load.parse_oha(json.dumps(OHA))
    assert seen.statuses == {"200": 4000, "429": 3, "connection refused": 2}, (
        "what the end of the time cut off is no failure"
    )
    assert seen.requests_per_s == 400
    assert seen.percentiles_s["max"] == 0.2
    nothing = {
        "summary": {"total": 1.0, "fastest": None, "average": None, "slowest": None},
        "latencyPercentiles": {"p50": None, "p90": None, "p99": None},
        "statusCodeDistribution": {},
        "errorDistribution": {"connection refused": 9},
    }
    seen = load.parse_oha(json.dumps(nothing))
    assert (seen.success_rate, seen.percentiles_s) == (0.0, {})
