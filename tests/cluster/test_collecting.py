"""What comes in of a comparison that is measured elsewhere."""

import json
from pathlib import Path

import pytest

from tests.records import make_record, times
from waitbench.cluster.collecting import UNITS, Collecting
from waitbench.families import ALL
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.store import comparisons

SCENARIO = next(one for one in ALL if one.name == "dynamic")
SETTINGS: dict[str, object] = {"scenarios": [SCENARIO.name], "rounds": 2}


@pytest.fixture
def collecting(tmp_path: Path) -> Collecting:
    return Collecting(
        folder=tmp_path,
        scenarios={SCENARIO.name: SCENARIO},
        revisions=[("a", "a", None), ("b", "b", None)],
    )


@pytest.fixture
def record() -> Record:
    made = make_record({"a": [times(1, 1, 1)] * 2, "b": [times(2, 1, 1)] * 2})
    made.scenario, made.parameters = SCENARIO.name, SCENARIO.parameters
    return made


def lines(record: Record, runs: list[Measurement], folder: Path) -> list[str]:
    """What a unit tells for its journal that has made these runs."""
    folder.mkdir()
    comparisons.begin(folder, record.context, {**SETTINGS, "share": {}})
    for run in runs:
        comparisons.append(folder, record, run)
    told = [json.dumps(json.loads((folder / "comparison.json").read_text()))]
    if runs:
        told += (folder / f"{record.scenario}.runs.jsonl").read_text().splitlines()
    return told


def kept(folder: Path) -> list[tuple[str, int]]:
    if not (folder / "comparison.json").exists():
        return []
    return [
        (run.label, run.round)
        for record in comparisons.resume(folder).records
        for run in record.measurements
    ]


def files_of(record: Record, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    comparisons.begin(folder, record.context, SETTINGS)
    comparisons.finish(folder, [record])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_is_on_disk_when_it_is_told(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    for line in lines(record, record.measurements[:3], tmp_path / "there"):
        collecting.keep(SCENARIO.name, line)
    assert kept(tmp_path) == [(run.label, run.round) for run in record.measurements[:3]]


def test_what_a_lost_attempt_told_is_void(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    first, *others = record.measurements
    for line in lines(record, others, tmp_path / "there"):
        collecting.keep(SCENARIO.name, line)
    collecting.forget(SCENARIO.name)
    assert kept(tmp_path) == []
    for line in lines(record, [first], tmp_path / "elsewhere"):
        collecting.keep(SCENARIO.name, line)
    assert kept(tmp_path) == [(first.label, first.round)]


def test_what_counts_is_what_the_finished_unit_has(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    for line in lines(record, record.measurements[:1], tmp_path / "there"):
        collecting.keep(SCENARIO.name, line)
    collecting.forget(SCENARIO.name)
    files = files_of(record, tmp_path / "unit")
    collecting.finished(SCENARIO.name, files)
    (merged,) = collecting.merge()
    assert merged.measurements == record.measurements
    assert (tmp_path / f"{SCENARIO.name}.json").read_bytes() == files[f"{SCENARIO.name}.json"]
    assert not (tmp_path / UNITS).exists()


def test_a_unit_of_another_comparison_is_not_resumed(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    collecting.finished(SCENARIO.name, files_of(record, tmp_path / "unit"))
    with pytest.raises(UsageError, match="another comparison"):
        collecting.finished_before({**SETTINGS, "rounds": 3})
    collecting.revisions = [("a", "a", None), ("b", "other", None)]
    with pytest.raises(UsageError, match="another comparison"):
        collecting.finished_before(SETTINGS)


@pytest.mark.parametrize("merged", [False, True])
def test_a_finished_unit_is_not_made_again(
    merged: bool, collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    labels = record.context.revisions
    collecting.revisions = [(one.label, one.text, one.commit) for one in labels]
    collecting.finished(SCENARIO.name, files_of(record, tmp_path / "unit"))
    if merged:
        collecting.merge()
    assert list(collecting.finished_before(SETTINGS)) == [SCENARIO.name]
    assert [one.measurements for one in collecting.merge()] == [record.measurements]
