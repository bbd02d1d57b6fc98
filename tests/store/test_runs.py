"""``runs.jsonl``: a line per run, even if the last is truncated, or another damaged."""

import re
from pathlib import Path

import pytest

from tests.records import make_record, measurement, times
from tests.store.keeping import begin, no_file_above
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import ScenarioResults
from waitbench.model.run import Measurement
from waitbench.store import comparisons


@pytest.fixture
def record() -> ScenarioResults:
    return make_record({"a": [], "b": []})


@pytest.fixture
def path(tmp_path: Path, record: ScenarioResults) -> Path:
    """The file of a comparison with two runs."""
    begin(tmp_path, [record])
    for number in (1, 2):
        comparisons.append(tmp_path, record, run(number))
    return tmp_path / "runs.jsonl"


def run(number: int) -> Measurement:
    return measurement("a", number, times(number, 1, 1))


def read(path: Path) -> tuple[list[int], str]:
    """The rounds of a file, and the sentence about its last line."""
    contents = comparisons.read_begun(path.parent)
    assert contents is not None
    return [run.round for it in contents.records for run in it.measurements], contents.cut_off


def test_a_file_cut_off_at_any_byte_keeps_all_runs_but_the_last_and_says_so(path: Path) -> None:
    content = path.read_bytes()
    whole = content.index(b"\n") + 1
    assert read(path) == ([1, 2], "")
    for size in range(whole + 1, len(content)):
        path.write_bytes(content[:size])
        assert read(path) == ([1], f"The last line of {str(path)!r} is cut off, and left out.")


def test_a_line_that_a_power_cut_left_as_zeros_is_left_out(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\0" * 4096)
    rounds, cut_off = read(path)
    assert (rounds, "cut off" in cut_off) == ([1, 2], True)


def test_a_disk_that_fills_up_within_a_line_loses_that_run_only(
    path: Path, record: ScenarioResults
) -> None:
    before = path.read_bytes()
    with (
        no_file_above(len(before) + 20),
        pytest.raises(HarnessError, match=r"runs\.jsonl cannot be added to: File too large"),
    ):
        comparisons.append(path.parent, record, run(3))
    assert path.read_bytes() == before
    comparisons.append(path.parent, record, run(4))
    assert read(path) == ([1, 2, 4], "")


NUMBERS = ("NaN", "Infinity", "-Infinity", "1e300", "1e16", "9" * 400)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (".*", ""), (".*", "{}"), (".*", "[1]"), (".*", "garbage"), (".*", "[" * 100_000),
        ("^.{50}.*", '{"scenario": "waiting", "revi'), ('"round": 1', '"round": "1"'),
        ('"scenario": "waiting"', '"scenario": "unknown"'), ('"metrics"', '"metric"'),
        *(('("time_wall_clock": )1', rf"\g<1>{number}") for number in NUMBERS),
    ],
)  # fmt: skip
def test_a_line_that_is_damaged_is_an_error_that_names_file_and_line(
    was: str, now: str, path: Path
) -> None:
    first, second, _ = path.read_text().split("\n")
    path.write_text(f"{second}\n{re.sub(was, now, first, count=1)}\n{second}\n")
    says = r"Line 2 of '.*runs\.jsonl' is not a run of waitbench \(.*delete the line: --resume"
    with pytest.raises(UsageError, match=says):
        comparisons.read_begun(path.parent)
