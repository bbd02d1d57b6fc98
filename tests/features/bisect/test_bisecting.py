"""Searches of a made-up repository, as a user would run them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Compare, Planned, Said, written

ENDS = ("-s", "dynamic", "--fail-on", "cpu:50%", "--rounds", "12")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a", "b", "-s", "dynamic", "--fail-on", "cpu:5%,20ms"), "METRIC:PERCENT% only"),
        (("a", "b", "-s", "dynamic", "--fail-on", "cpu:5%,each"), "METRIC:PERCENT% only"),
        (("a", "a", "-s", "dynamic"), "nothing to search between"),
    ],
)
def test_bad_input_is_refused_and_nothing_created(
    arguments: tuple[str, ...], says: str, said: Said, tmp_path: Path
) -> None:
    code, out, err = said("bisect", *arguments, "--results", tmp_path / "results")
    assert (code, out, says in err) == (2, "", True), err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """Four commits, the last of which costs four times as much; the second does not build."""
    return written(tmp_path_factory, 0.1, None, 0.1, 0.4)


def ends(history: Planned, good: int, bad: int) -> list[object]:
    folder, ids = history
    return [ids[good], ids[bad], "--repo", folder, *ENDS]


def labels(history: Planned, *numbers: int) -> list[str]:
    return [history[1][number][:10] for number in numbers]


def runs(folder: Path) -> list[str]:
    """The rows of measured runs in every step's table."""
    rows = [row for path in sorted(folder.rglob("runs.csv")) for row in path.read_text().split()]
    return [row for row in rows if ",ok," in row]


@pytest.mark.integration
@pytest.mark.smoke
def test_a_culprit_is_named_and_a_search_that_goes_on_makes_no_run_twice(
    run_compare: Compare, history: Planned, tmp_path: Path
) -> None:
    folder = tmp_path / "found"
    command = [*ends(history, 0, 3), "--results", folder]
    done = run_compare(*command, command="bisect")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads((folder / "bisect.json").read_text())
    assert said["end"] == "found"
    good, bad = labels(history, 2, 3)
    assert said["stages"][0]["suspects"] == [good, bad]
    assert f"{labels(history, 1)[0]} cannot be measured" in done.stdout
    before = runs(folder)
    again = run_compare(*command, "--resume", command="bisect")
    assert json.loads((folder / "bisect.json").read_text()) == said
    assert " · round " in done.stdout
    assert (runs(folder), " · round " in again.stdout) == (before, False)
    others = (
        [*command, "--find", "faster"],
        [*ends(history, 0, 2), "--results", folder],
    )
    for other in others:
        done = run_compare(*other, "--resume", command="bisect")
        assert (done.returncode, "has nothing to resume" in done.stderr) == (2, True), done.stderr
    done = run_compare(*command, "--full", "--resume", command="bisect")
    assert (done.returncode, "was begun with other" in done.stderr) == (2, True), done.stderr
    assert json.loads((folder / "bisect.json").read_text()) == said
