"""Metrics that a worker writes itself: what is made of its lines, and which are refused."""

from pathlib import Path

import pytest

from waitbench.engines.worker import written
from waitbench.model.worker import MetricFile

TIMES = {"call-time": MetricFile(unit="s", show=("mean", "p25", "p50", "p99", "min", "max"))}


def found(tmp_path: Path, text: str, files: dict[str, MetricFile] = TIMES) -> dict[str, float]:
    path = tmp_path / "metrics-0.jsonl"
    path.write_text(text)
    return dict(written.read([path], files))


def test_numbers_and_lists_of_numbers_of_all_copies_make_each_statistic(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("metrics-0.jsonl", "metrics-1.jsonl")]
    paths[0].write_text('{"call-time": 1}\n{"call-time": [2, 3.0]}\n')
    paths[1].write_text('{"call-time": [4, 5]}\n')
    read = written.read(paths, TIMES)
    assert read == {
        "own_call_time_mean": 3.0,
        "own_call_time_p25": 2.0,
        "own_call_time_p50": 3.0,
        "own_call_time_p99": pytest.approx(4.96),
        "own_call_time_min": 1.0,
        "own_call_time_max": 5.0,
    }


def test_a_line_may_hold_several_names(tmp_path: Path) -> None:
    files = {"sent": MetricFile(unit="B", show=("total", "count")), "dropped": MetricFile()}
    text = '{"sent": [100, 20], "dropped": 7}\n'
    assert found(tmp_path, text, files) == {
        "own_sent_total": 120.0, "own_sent_count": 2, "own_dropped": 7.0,
    }  # fmt: skip
    # Totals and counts may be of nothing.
    nothing = found(tmp_path, '{"sent": [], "dropped": 7}\n', files)
    assert (nothing["own_sent_total"], nothing["own_sent_count"]) == (0, 0)


def test_metrics_are_named_after_what_is_shown_of_them() -> None:
    (of_times,) = written.metrics_of("call-time", MetricFile(unit="s", show=("p99",)))
    assert (of_times.name, of_times.key, of_times.unit) == (
        "call-time-p99", "own_call_time_p99", "second",
    )  # fmt: skip
    (plain,) = written.metrics_of("rate", MetricFile(unit="lines/s"))
    assert (plain.name, plain.title, plain.is_own) == ("rate", "rate (lines/s)", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it wrote no call-time to {metrics}"),
        ('{"call-time": 1', "line 1 of {metrics} is not a JSON object"),
        (
            '{"call-time": 1}\n[1]\n',
            "line 2 of {metrics} is not a JSON object of numbers and lists of numbers: '[1]'",
        ),
        ('{"other": 1}\n', "has 'other', which is not one of the [metrics]: call-time"),
        ('{"call-time": "1"}\n', "line 1 of {metrics} is not a JSON object"),
        ('{"call-time": [1, null]}\n', "of numbers and lists of numbers"),
        ('{"call-time": NaN}\n', "of numbers and lists of numbers"),
        ('{"call-time": [1e300]}\n', "of numbers and lists of numbers"),
        ('{"call-time": []}\n', "it wrote no numbers of call-time to {metrics}"),
        ("[" * 100_000, "line 1 of {metrics} is not a JSON object"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "is not a JSON object"),
    ],
)
def test_what_is_damaged_is_no_number(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as raised:
        found(tmp_path, text)
    assert said in str(raised.value)


def test_a_file_that_was_not_written_and_several_numbers_to_show_are_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"it did not write the file \{metrics\}"):
        written.read([tmp_path / "metrics-0.jsonl"], TIMES)
    with pytest.raises(ValueError, match=r"it wrote 2 numbers of dropped to \{metrics\}"):
        found(tmp_path, '{"dropped": 1}\n{"dropped": 2}\n', {"dropped": MetricFile()})
