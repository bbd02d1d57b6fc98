"""Extra runs: what is asked for must be possible, and what they show must get somewhere."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.records import make_record
from tests.traces import trace
from waitbench.execution.measure import Measurer
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.run import Trace
from waitbench.model.scenario import Scenario
from waitbench.pipeline import extras
from waitbench.pipeline.extras import Extras, ExtrasAtWork
from waitbench.store import csv_files
from waitbench.system.instruments import Tracer

TRACING = Extras(launcher_cost=False, trace=True)


def test_a_trace_that_cannot_be_is_refused_with_the_reason_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking = Tracer(path=None, reason="only root may trace", remedy="sudo it")
    monkeypatch.setattr(extras, "find_tracer", lambda: lacking)
    with pytest.raises(UsageError, match=r"--trace .* only root may trace\. .*: sudo it"):
        TRACING.validate()
    Extras(launcher_cost=True).validate()
    monkeypatch.setattr(extras, "find_tracer", lambda: Tracer(path="/usr/bin/tracer"))
    TRACING.validate()


def at_work(folder: Path, labels: str) -> ExtrasAtWork:
    """Extras of one scenario, of revisions that can all run it."""
    bench = SimpleNamespace(environments=labels, what_is_missing=lambda _scenario, _label: None)
    scenario = cast(Scenario, SimpleNamespace(name="waiting"))
    return ExtrasAtWork(
        wanted=TRACING,
        scenarios={"waiting": scenario},
        measurer=cast(Measurer, SimpleNamespace(bench=bench)),
        folder=folder,
        progress=cast(Any, SimpleNamespace(about=lambda _what: None)),
    )


def test_traces_are_kept_and_shown_and_one_that_failed_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record(_scenario: Scenario, label: str, _bench: object) -> Trace:
        if label == "c":
            raise HarnessError("events were lost")
        return trace(label, {"futex": 100 if label == "a" else 200})

    monkeypatch.setattr("waitbench.execution.tracing.record", record)
    runs: dict[str, list[dict[str, float]]] = {label: [] for label in "abc"}
    (table,) = at_work(tmp_path, "abc").add(make_record(runs))
    assert [kept.label for kept in csv_files.read_traces(tmp_path / "waiting.trace.csv")] == [
        "a",
        "b",
    ]
    assert table.notes == (
        "b against a, one traced run each: futex + 100 %, 100 more a second.",
        "c: no trace: events were lost",
    )


def test_no_file_is_left_where_nothing_could_be_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record(*_arguments: object) -> Trace:
        raise HarnessError("events were lost")

    monkeypatch.setattr("waitbench.execution.tracing.record", record)
    (table,) = at_work(tmp_path, "a").add(make_record({"a": []}))
    assert table.notes == ("a: no trace: events were lost",)
    assert list(tmp_path.iterdir()) == []
