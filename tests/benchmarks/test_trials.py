"""Comparisons that benchmarks have made, and read again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import trials
from benchmarks.trials import Comparer
from tests.benchmarks.judged import FAILED, OPEN, judgement, trial, verdict
from tests.records import make_record, times
from waitbench.store import comparisons

STAND_IN = """\
#!/bin/sh
echo "$@" >> {calls}
for folder; do :; done
[ -e "$folder" ] && exit 2
cp -r {finished} "$folder"
exit {code}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose compare.sh is done at once; ``calls`` there has a line for each call."""
    monkeypatch.setattr(trials, "ROOT", tmp_path)
    record = make_record({"base": [times(2.0, 1.0, 1.0)], "new": [times(3.0, 1.0, 1.0)]})
    finished = tmp_path / "finished"
    finished.mkdir()
    comparisons.begin(finished, record.context, {})
    comparisons.finish(finished, [record])
    (finished / "verdict.json").write_text(json.dumps(verdict(judgement())))
    write_stand_in(tmp_path, code=0)
    return tmp_path


def write_stand_in(root: Path, *, code: int) -> None:
    script = root / "compare.sh"
    script.write_text(STAND_IN.format(calls=root / "calls", finished=root / "finished", code=code))
    script.chmod(0o755)


def calls(root: Path) -> list[str]:
    return (root / "calls").read_text().splitlines()


def comparer(root: Path, *options: str) -> Comparer:
    return Comparer(results=root / "results", options=options)


def test_a_trial_is_made_once_and_then_read(root: Path) -> None:
    made, read = (comparer(root, "--gate").make("trial-001", "a", "b") for _ in range(2))
    (call,) = calls(root)
    assert call.startswith("base=a new=b --no-plot --quiet --gate --results ")
    assert made == read
    assert made.passed
    assert made.measuring_s == 3.0


def test_a_trial_that_was_interrupted_is_made_again(root: Path) -> None:
    (root / "results" / "trial-001").mkdir(parents=True)
    assert comparer(root).make("trial-001", "a", "b").passed


@pytest.mark.parametrize("code", [2, 3])
def test_a_trial_that_cannot_be_made_ends_the_benchmark(root: Path, code: int) -> None:
    write_stand_in(root, code=code)
    (root / "finished" / "verdict.json").rename(root / "verdict.json")
    with pytest.raises(SystemExit, match=f"trial-001: exit code {code}"):
        comparer(root).make("trial-001", "a", "b")
    write_stand_in(root, code=0)
    (root / "verdict.json").rename(root / "finished" / "verdict.json")
    assert comparer(root).make("trial-001", "a", "b").passed


def test_a_trial_without_an_answer_is_one_too(root: Path) -> None:
    (root / "finished" / "verdict.json").write_text(json.dumps(verdict(OPEN)))
    write_stand_in(root, code=3)
    assert comparer(root).make("trial-001", "a", "b").outcome == "inconclusive"


def test_trials_are_counted_by_outcome() -> None:
    assert trials.outcomes([trial(FAILED), trial(OPEN), trial(FAILED)]) == "2 fail, 1 inconclusive"


def test_a_trial_of_another_command_is_not_taken_for_this_one(root: Path) -> None:
    comparer(root, "-p", "2").make("trial-001", "a", "b")
    with pytest.raises(SystemExit, match="made by another command"):
        comparer(root, "-p", "3").make("trial-001", "a", "b")


def test_measuring_is_from_the_first_run_to_the_end_of_the_last() -> None:
    record = make_record({"base": [{"time_wall_clock": 1.0}], "new": [{"time_wall_clock": 2.5}]})
    record.measurements[1] = replace(
        record.measurements[1], started_at="2026-01-01T00:00:04.500+00:00"
    )
    assert trials.span_s([record]) == pytest.approx(7.0)
    assert trials.span_s([]) == 0.0


def test_what_was_given_up_is_not_settled() -> None:
    mixed = trial(judgement(), FAILED, OPEN, judgement())
    assert (mixed.settled, mixed.rounds, mixed.passed) == (0.75, 30, False)
    assert (mixed.open, mixed.failures) == ([OPEN], [FAILED])


@pytest.mark.parametrize(
    ("passed_on", "options"),
    [
        ((), ("--gate", "--fail-fast")),
        (("-s", "dynamic"), ("--gate", "--fail-fast", "-s", "dynamic")),
        (("--fail-on=cpu:5%",), ("--fail-on=cpu:5%",)),
        (("--gate", "-w", "2"), ("--gate", "-w", "2")),
    ],
)
def test_criteria_of_ones_own_take_the_place_of_the_defaults(
    passed_on: tuple[str, ...], options: tuple[str, ...]
) -> None:
    assert trials.gate_options(passed_on, "--gate", "--fail-fast") == options


def test_a_judgement_without_enough_rounds_has_no_ratio() -> None:
    assert (
        trials.text(judgement(verdict="inconclusive", ratio=None))
        == "wakeups:5% in waiting: inconclusive"
    )
