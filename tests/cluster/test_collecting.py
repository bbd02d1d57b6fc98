"""What comes in of a comparison that is measured elsewhere."""

import io
from pathlib import Path

import pytest

from tests.records import make_record, times
from waitbench.cluster.collecting import UNITS, Collecting
from waitbench.cluster.messages import RemoteRunRecorder, Teller
from waitbench.families import ALL
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import Measurement, PlannedRun
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import RunProgress
from waitbench.store import comparisons

SCENARIO = next(one for one in ALL if one.name == "dynamic")
SETTINGS: dict[str, object] = {"scenarios": [SCENARIO.name], "rounds": 2}


@pytest.fixture
def collecting(tmp_path: Path) -> Collecting:
    progress = RunProgress(make_console(), quiet=True)
    return Collecting(
        folder=tmp_path,
        scenarios={SCENARIO.name: SCENARIO},
        revisions=[("a", "a", None), ("b", "b", None)],
        progress=progress,
    )


@pytest.fixture
def record() -> Record:
    made = make_record({"a": [times(1, 1, 1)] * 2, "b": [times(2, 1, 1)] * 2})
    made.scenario, made.parameters = SCENARIO.name, SCENARIO.parameters
    return made


def lines(record: Record, runs: list[Measurement], folder: Path) -> list[str]:
    """What a unit tells that has made these runs."""
    folder.mkdir()
    output = io.StringIO()
    teller = Teller(output)
    keeper = RemoteRunRecorder(folder, teller, lambda _record: None)
    empty = make_record({"a": [], "b": []})
    empty.scenario, empty.parameters = record.scenario, record.parameters
    teller.about("getting ready …")
    teller.begun(empty.context, SETTINGS, [empty])
    for run in runs:
        planned = PlannedRun(
            scenario=SCENARIO, label=run.label, round=run.round, position=run.position
        )
        keeper.extend([planned])
        keeper.begin(planned)
        keeper.keep(empty, run)
        keeper.end(planned, run)
    return output.getvalue().splitlines()


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
    collecting.begun(SCENARIO.name, "east")
    for line in lines(record, record.measurements[:3], tmp_path / "there"):
        collecting.told(SCENARIO.name, line)
    assert kept(tmp_path) == [(run.label, run.round) for run in record.measurements[:3]]


def test_what_a_lost_attempt_told_is_void(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    first, *others = record.measurements
    collecting.begun(SCENARIO.name, "east")
    for line in lines(record, others, tmp_path / "there"):
        collecting.told(SCENARIO.name, line)
    collecting.lost(SCENARIO.name)
    assert kept(tmp_path) == []
    collecting.begun(SCENARIO.name, "west")
    for line in lines(record, [first], tmp_path / "elsewhere"):
        collecting.told(SCENARIO.name, line)
    assert kept(tmp_path) == [(first.label, first.round)]


def test_what_counts_is_what_the_finished_unit_has(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    collecting.begun(SCENARIO.name, "east")
    told = lines(record, record.measurements, tmp_path / "there")
    for line in [line for line in told if '"keep"' not in line] + ["not one of ours"]:
        collecting.told(SCENARIO.name, line)
    assert kept(tmp_path) == []
    files = files_of(record, tmp_path / "unit")
    collecting.finished(SCENARIO.name, files)
    (merged,) = collecting.merge()
    assert merged.measurements == record.measurements
    assert (tmp_path / f"{SCENARIO.name}.json").read_bytes() == files[f"{SCENARIO.name}.json"]
    assert not (tmp_path / UNITS).exists()


def test_a_unit_of_another_comparison_is_not_resumed(
    collecting: Collecting, record: Record, tmp_path: Path
) -> None:
    collecting.begun(SCENARIO.name, "east")
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
    collecting.begun(SCENARIO.name, "east")
    collecting.finished(SCENARIO.name, files_of(record, tmp_path / "unit"))
    if merged:
        collecting.merge()
    assert list(collecting.finished_before(SETTINGS)) == [SCENARIO.name]
    assert [one.measurements for one in collecting.merge()] == [record.measurements]
