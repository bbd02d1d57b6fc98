"""Comparisons in folders: complete after every run, even if interrupted."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.records import describing, make_record, measurement, outcome, specify, times
from tests.store.keeping import begin, finish, keep, recorded
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import DISTURBED, WARM_UP
from waitbench.model.scenario import CurvePoint, Topology
from waitbench.store import comparisons
from waitbench.system import files


@pytest.fixture
def record() -> ScenarioResults:
    return recorded()


def bare(records: Sequence[ScenarioResults]) -> list[ScenarioResults]:
    """Records with one header, as that of stored ones has more."""
    return [replace(record, context=describing([recorded()])) for record in records]


def test_every_run_is_there_before_the_next_one_starts_and_no_export_is_read_back(
    tmp_path: Path, record: ScenarioResults
) -> None:
    begin(tmp_path, [record])
    for number, result in enumerate(record.results, 1):
        comparisons.append(tmp_path, record, result)
        before = comparisons.read(tmp_path)
        assert before.records[0].results == record.results[:number]
    assert (bare(before.records), before.comparison.finished) == (bare([record]), False)
    comparisons.finish(tmp_path, describing([record]), [record])
    after = comparisons.read(tmp_path)
    assert (bare(after.records), after.comparison.finished) == (bare([record]), True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparison.json", "runs.csv", "runs.jsonl", "waiting.json",
    ]  # fmt: skip
    for name in ("waiting.json", "runs.csv"):
        (tmp_path / name).write_text("{")
    assert bare(comparisons.read(tmp_path).records) == bare([record])


def test_the_latest_warm_ups_are_kept_beside_the_runs(
    tmp_path: Path, record: ScenarioResults
) -> None:
    begin(tmp_path, [record])
    label = record.context.labels[0]
    warm_ups = [measurement(label, WARM_UP, times(seconds, 1, 1)) for seconds in (1, 2)]
    for number, warm_up in enumerate(warm_ups):
        comparisons.append(tmp_path, record, replace(warm_up, started_at=f"{number}"))
    comparisons.append(tmp_path, record, record.results[0])
    (stored,) = comparisons.read(tmp_path).records
    assert [run.metrics for run in stored.warm_ups] == [warm_ups[1].metrics]
    assert stored.results == record.results[:1]


def test_what_is_odd_survives_a_round_trip(tmp_path: Path) -> None:
    label = 'a, "b"\n\x1b[31m\u202e'
    odd = make_record({label: [], "é": []}, scenario="comparison", argv=("compare", "r\udce9sults"))
    specify(
        odd,
        metrics=(*METRICS, Metric("own", "own_metric", "byte", "a worker's own")),
        parameters={"": "\t", "whole": 10**15, "fraction": 0.1, "is": True},
        scan=CurvePoint(scenario="idle", parameter="processes", value=4),
        topology=Topology("cluster", 4, 2),
        machine={"kernel": None},
    )
    metrics = {**times(1e-9, 0, 1e9), "own_metric": 10**15}
    odd.add(measurement("é", 1, metrics, position=1, marks=("odd", "")))
    odd.add(outcome(label, 1, "failed", message='"\n', log="\u2028"))
    finish(tmp_path, odd, make_record({label: [times(1, 1, 1)], "é": []}), rounds=3)
    contents = comparisons.read(tmp_path)
    assert bare(contents.records[:1]) == bare([odd])
    assert [it.topology for it in contents.records] == [Topology("cluster", 4, 2), "single"]
    assert (contents.records[0].topology.processes, contents.records[0].topology.workers) == (4, 2)
    assert (contents.comparison.argv, contents.comparison.settings) == (
        odd.context.argv, {"rounds": 3}
    )  # fmt: skip
    assert (tmp_path / "comparison-scenario.json").exists()


def test_a_measurement_set_aside_is_an_outcome(tmp_path: Path, record: ScenarioResults) -> None:
    keep(tmp_path, record)
    disturbed = outcome("a", 1, DISTURBED)
    del record.measurements[0]
    record.add(disturbed)
    comparisons.append(tmp_path, record, disturbed)
    assert bare(comparisons.read(tmp_path).records) == bare([record])
    anew = replace(measurement("a", 1, times(1, 1, 1)), started_at="2026-01-02T00:00:00+00:00")
    record.add(anew)
    comparisons.append(tmp_path, record, anew)
    assert bare(comparisons.read(tmp_path).records) == bare([record])


def crash_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the process "die" at the ``number``-th change that it makes to the folder, from 0."""
    left = [number]

    def dying(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*arguments: Any, **named: Any) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            change(*arguments, **named)

        return changed

    monkeypatch.setattr(files, "write_text", dying(files.write_text))


@pytest.mark.parametrize("number", range(7))
def test_a_crash_at_any_moment_of_a_resumed_beginning_or_of_the_end_loses_nothing(
    number: int, tmp_path: Path, record: ScenarioResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_record({"a": [times(1, 1, 1)], "b": []}, scenario="other")
    finish(tmp_path, record, other)
    contents = comparisons.read(tmp_path)
    with monkeypatch.context() as patch:
        # Two files at the beginning; at the end one for each scenario, the table, and the mark.
        crash_at(number, patch)
        dies = pytest.raises(KeyboardInterrupt) if number < 6 else nullcontext()
        with dies:
            comparisons.begin(tmp_path, contents.comparison, contents.records)
            comparisons.finish(tmp_path, contents.comparison, contents.records)
    assert bare(comparisons.read(tmp_path).records) == bare([record, other])


def test_scenarios_are_read_in_the_order_of_the_comparison_without_those_not_begun(
    tmp_path: Path,
) -> None:
    named = [make_record({"a": [times(1, 1, 1)]}, scenario=name) for name in "zam"]
    named[1].measurements.clear()
    keep(tmp_path, *named)
    assert [it.scenario for it in comparisons.read(tmp_path).records] == ["z", "m"]
    comparisons.finish(tmp_path, describing(named), named)
    assert [it.scenario for it in comparisons.read(tmp_path).records] == ["z", "a", "m"]


@pytest.mark.parametrize("content", [None, "", '{"format": 3, "kind": "compa'])
def test_without_what_holds_for_all_runs_none_of_them_counts_and_it_is_said_why(
    content: str | None, tmp_path: Path, record: ScenarioResults
) -> None:
    finish(tmp_path, record)
    path = tmp_path / "comparison.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(UsageError, match=r"none of them counts\. Restore it from a copy, or meas"):
        comparisons.read_begun(tmp_path)
