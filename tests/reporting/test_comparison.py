"""The tables of one scenario, and the same as plain data."""

import pytest

from tests.records import (
    make_record,
    times,
)
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.analysis.verdicts import Verdict
from waitbench.model.record import Record
from waitbench.reporting.answer import answer
from waitbench.reporting.comparison import print_comparison
from waitbench.reporting.console import print_answer
from waitbench.reporting.formats import format_range
from waitbench.store import comparisons
from waitbench.system.places import ROOT

WAITING = {
    "time_cpu_startup": 0.1,
    "time_cpu_steady": 0.6,
    "time_cpu_shutdown": 0.1,
    "polls_per_item": 1234.5,
    "item_latency_p99": 0.0042,
}


def printed(record: Record) -> list[str]:
    return lines_of(lambda console: print_comparison(statistics.compare(record), console))


COUNTED = {"wakeups": 5000, "system_calls": 12345, "polls": 80000}


def test_the_document_shows_what_the_report_prints_of_its_sample() -> None:
    compared = statistics.compare_all(comparisons.read(ROOT / "docs/samples/input").records)
    (shown,) = (one for one in compared if one.scenario == "partitioned-long-input")
    document = (ROOT / "docs" / "reading.md").read_text("utf-8")
    lines = lines_of(lambda console: print_comparison(shown, console))
    assert "\n".join(lines[:6]) in document
    ends_with = lines_of(lambda console: print_answer(answer([shown]), console))
    assert "\n".join(ends_with) in document


@pytest.mark.parametrize("labels", [("v0.16.0", "v0.16.1"), ("a" * 40, "[red]b[/red]")])
def test_the_tables_fit_80_columns(labels: tuple[str, str]) -> None:
    runs = [{**times(123.4 + i, 99.9 + i, 0.001 * i), **WAITING} for i in range(4)]
    lines = printed(make_record({labels[0]: runs, labels[1]: runs}))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(labels[1]) for line in lines), "labels are data, not markup"
    assert any("…" in line for line in lines) is (len(labels[0]) == 40)


def test_the_interval_of_a_ratio_is_wider_the_more_scenarios_are_compared() -> None:
    runs = {
        "old": [times(1, 100, 1)] * 5,
        "new": [times(1, 100, system) for system in (1.09, 1.14, 1.18, 1.22, 1.28)],
    }
    record = make_record(runs)
    alone, of_eight = (
        statistics.compare(record, scenarios=count).rows[1].ratios["system"] for count in (1, 8)
    )
    assert (alone.verdict, of_eight.verdict) == (Verdict.SLOWER, Verdict.INCONCLUSIVE)
    assert format_range(alone) == "+3.9…+34 %"
    assert format_range(of_eight) == "−5.7…+48 %"
