"""The tables of one scenario."""

import pytest

from tests.records import make_record, times
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record
from waitbench.reporting.tables import format_value, print_comparison
from waitbench.store import comparisons
from waitbench.system.places import ROOT

WAITING = {
    "time_cpu_startup": 0.1,
    "time_cpu_steady": 0.6,
    "time_cpu_shutdown": 0.1,
    "time_cpu_helpers": 0.0,
    "time_cpu_launcher": 0.2,
    "polls_per_item": 1234.5,
    "item_latency_p99": 0.0042,
}


def printed(record: Record) -> list[str]:
    return lines_of(lambda console: print_comparison(statistics.compare(record), console))


def test_a_cell_holds_the_estimate_and_the_ratio_each_with_its_interval() -> None:
    runs = {
        "a": [times(1, 1, 0.25)] * 3,
        "b": [times(n, 2, 0.25 + n / 100) for n in (1.9, 2.0, 2.1)],
    }
    lines = printed(make_record(runs, topology="cluster"))
    assert lines[:6] == [
        "waiting · cluster · 3 rounds · means",
        "revision  real           user          system        cpu",
        "a         1.000 s ±0 %   1.000 s ±0 %  0.250 s ±0 %  1.250 s ±0 %",
        "b         2.000 s ±12 %  2.000 s ±0 %  0.270 s ±1 %  2.270 s ±0 %",
        "          × 2            × 2           × 1.08        × 1.82",
        "          (1.76–2.26)                  (1.07–1.09)   (1.81–1.82)",
    ]
    assert len(lines) > 6


def test_what_is_printed_of_several_runs_is_said_to_be_their_mean() -> None:
    runs = [times(n, 1, 1) for n in (1.0, 1.0, 4.0)]
    lines = printed(make_record({"a": runs}))
    assert lines[0].endswith("means")
    assert lines[2].split()[1] == "2.000", "a chart has a line at the median, and says so"


def test_a_wide_interval_of_a_ratio_is_given_by_its_ends() -> None:
    runs = {"a": [times(1, 1, 1)] * 3, "b": [times(1, n, 1) for n in (0.08, 0.12, 0.19)]}
    found = [line.split() for line in printed(make_record(runs))]
    assert found[4][:4] == ["×", "1", "×", "0.122"]
    assert found[5][0] == "(0.0417–0.358)", "not half a width that is added and taken away"


def test_the_second_table_shows_what_the_workers_did_and_where_cpu_went() -> None:
    lines = printed(make_record({"a": [{**times(1, 1, 1), **WAITING}], "b": []}))
    assert lines[4:8] == [
        "                                             start/steady/",
        "revision  steady CPU  polls/item  late, p99  stop/launch",
        "a         0.600 s     1,234       4.20 ms    10/60/10/20 %",
        "b         –           –           –          –",
    ]


COUNTED = {"wakeups": 5000, "system_calls": 12345, "polls": 80000}


def test_the_third_table_shows_what_waiting_consists_of() -> None:
    one, two = ({key: n * count for key, count in COUNTED.items()} for n in (1, 2))
    runs = {label: [{**times(1, 1, 1), **more}] * 2 for label, more in (("a", one), ("b", two))}
    lines = [" ".join(line.split()) for line in printed(make_record(runs))]
    assert lines[5:9] == [
        "revision wake-ups system calls polls",
        "a 5,000 ±0 % 12,345 ±0 % 80,000 ±0 %",
        "b 10,000 ±0 % 24,690 ±0 % 160,000 ±0 %",
        "× 2 × 2 × 2",
    ]


@pytest.mark.parametrize(
    ("more", "heading"), [({}, "system (ticks)"), ({"cpu_sampled_share": 0.9}, "steady system")]
)
def test_the_third_table_says_how_steady_system_time_is_known(
    more: dict[str, float], heading: str
) -> None:
    run = {**times(1, 1, 1), **COUNTED, "time_system_steady": 0.217, **more}
    lines = printed(make_record({"a": [run, run], "b": [run, run]}))
    assert lines[5].split("  ")[-1].strip() == heading
    assert lines[6].endswith("0.217 s ±0 %")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("waits", [True, False])
def test_counts_are_shown_only_where_there_was_waiting_and_more_than_polls(waits: bool) -> None:
    polls = [{**times(1, 1, 1), "polls": 80000.0}]
    calls = [{**times(1, 1, 1), **COUNTED}]
    assert not any("wake-ups" in line for line in printed(make_record({"a": polls})))
    shown = any("wake-ups" in line for line in printed(make_record({"a": calls}, waits=waits)))
    assert shown == waits


def test_helpers_have_a_part_where_a_workload_starts_any() -> None:
    with_helpers = {**times(1, 1, 1), **WAITING, "time_cpu_helpers": 1.0}
    lines = printed(make_record({"a": [{**times(1, 1, 1), **WAITING}], "b": [with_helpers]}))
    assert any(line.endswith("stop/helpers/launch") for line in lines)
    parts = [line.split()[-2] for line in lines if line.endswith(" %") and "/" in line]
    assert parts == ["10/60/10/0/20", "5/30/5/50/10"]


def test_one_round_is_no_plural_and_has_no_interval() -> None:
    lines = printed(make_record({"a": [times(1, 1, 1)]}))
    assert lines[0] == "waiting · single · 1 round"
    assert lines[2].split() == ["a", "1.000", "s", "1.000", "s", "1.000", "s", "2.000", "s"]


def test_the_interval_of_a_mean_that_is_cut_off_at_zero_is_given_by_its_ends() -> None:
    lines = printed(make_record({"a": [times(1, 1, 0.001), times(1, 1, 0.5)]}))
    assert "0.251 s (0–3.421 s)" in lines[2]


def test_the_readme_shows_what_the_report_prints_of_its_sample() -> None:
    compared = statistics.compare_all(comparisons.read(ROOT / "docs/samples/input").records)
    (shown,) = (one for one in compared if one.scenario == "partitioned-long-input")
    lines = lines_of(lambda console: print_comparison(shown, console))
    assert "\n".join(lines).strip() in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("labels", [("v0.16.0", "v0.16.1"), ("a" * 40, "[red]b[/red]")])
def test_the_tables_fit_80_columns(labels: tuple[str, str]) -> None:
    runs = [{**times(123.4 + i, 99.9 + i, 0.001 * i), **WAITING} for i in range(4)]
    lines = printed(make_record({labels[0]: runs, labels[1]: runs}))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(labels[1]) for line in lines), "labels are data, not markup"
    assert any("…" in line for line in lines) is (len(labels[0]) == 40)


@pytest.mark.parametrize(
    ("value", "name", "text"),
    [
        (0.0123, "real", "0.012 s"),
        (12.345, "real", "12.35 s"),
        (0.0123, "latency", "12.30 ms"),
        (0.123, "latency", "0.123 s"),
        (3 * 2**20, "rss", "3.0 MiB"),
        (1234.5, "polls", "1,234"),
        (1.2345, "polls-per-item", "1.23"),
    ],
)
def test_a_value_has_its_unit(value: float, name: str, text: str) -> None:
    assert format_value(value, BY_NAME[name]) == text
