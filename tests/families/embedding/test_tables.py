"""Tables of requests for embeddings: what is in each cell."""

from dataclasses import replace

import pytest

from tests.families.embedding.loads import one_load
from tests.records import context, measurement
from waitbench.families import embedding
from waitbench.families.embedding.kept import Modes, summarize
from waitbench.families.embedding.tables import load_tables, worker_tables
from waitbench.model.record import Record
from waitbench.reporting.document import Cell, Table


def rows_of(table: Table) -> dict[Cell, tuple[Cell, ...]]:
    return {row[0]: row[1:] for row in table.rows}


def worker(mode: str, *taken_ms: float, cpu_ms: float = 0.5, **metrics: float) -> Record:
    record = Record(
        scenario=f"embedding-{mode}", family="embedding", parameters={}, context=context(["a"])
    )
    samples = [{"taken_s": taken / 1000, "inputs": 2.0} for taken in taken_ms]
    for sample in samples[1:]:
        sample["cpu_s"] = cpu_ms / 1000
    record.add(measurement("a", 1, metrics, samples=tuple(samples)))
    return record


def test_a_workers_requests_are_described_by_mode_in_the_familys_order() -> None:
    records = [
        worker(
            "proxy-adaptive",
            *range(1, 102),
            cpu_ms=2,
            service_cpu_proxy=0.101,
            service_cpu_embedder=0.303,
            upstream_calls=50.5,
        ),
        worker("direct", 4, 6, service_cpu_embedder=0.002),
    ]
    (table,) = worker_tables(records)
    assert table.title == "embedding · a · one request at a time"
    assert table.header == ("", "direct", "proxy-adaptive")
    assert rows_of(table) == {
        "requests": ("2", "101"),
        "requests per second": ("200", "20"),
        "fastest, ms": ("4.00", "1.00"),
        "average, ms": ("5.00", "51.00"),
        "50 %, ms": ("5.00", "51.00"),
        "90 %, ms": ("5.80", "91.00"),
        "99 %, ms": ("5.98", "100.00"),
        "slowest, ms": ("6.00", "101.00"),
        "worker's CPU, ms/request": ("0.5", "2"),
        "proxy's CPU, ms/request": ("–", "1"),
        "embedder's CPU, ms/request": ("1", "3"),
        "upstream calls/request": ("1", "0.5"),
    }


def test_what_a_worker_does_once_is_no_part_of_a_requests_cpu() -> None:
    few = worker("proxy-fixed", 1, 1, cpu_ms=0.5, time_cpu_steady=0.016)
    many = worker("direct", *[1] * 400, cpu_ms=0.5, time_cpu_steady=0.216)
    (table,) = worker_tables([few, many])
    assert rows_of(table)["worker's CPU, ms/request"] == ("0.5", "0.5")


def test_runs_without_a_request_are_dashes() -> None:
    (table,) = worker_tables([worker("direct")])
    assert rows_of(table)["requests"] == ("0",)
    assert rows_of(table)["99 %, ms"] == ("–",)


def test_a_load_is_described_by_mode_and_held_against_direct() -> None:
    modes: Modes = {
        "direct": summarize([one_load(0.010, 100)]),
        "proxy-adaptive": summarize([one_load(0.020, 250, failed=50, upstream_calls=50)]),
    }
    (table,) = load_tables(modes)
    assert table.header == ("", "direct", "proxy-adaptive")
    assert table.rows == (
        ("success rate", "100.00%", "83.33%"),
        ("requests per second", "10.0", "25.0"),
        ("… against direct", "× 1.00", "× 2.50"),
        ("answered after its end", "0 in 0.0 s", "0 in 0.0 s"),
        ("fastest, ms", "10.0", "20.0"),
        ("… of each round", "–", "–"),
        ("… against direct", "× 1.00", "× 2.00"),
        ("average, ms", "500.0", "500.0"),
        ("50 %, ms", "500.0", "500.0"),
        ("90 %, ms", "600.0", "600.0"),
        ("99 %, ms", "700.0", "700.0"),
        ("slowest, ms", "1,000.0", "1,000.0"),
        ("upstream calls/request", "1.000", "0.200"),
        ("proxy's CPU, ms/request", "–", "2.000"),
        ("embedder's CPU, ms/request", "10.000", "4.000"),
        ("answers checked, wrong", "2, 0", "2, 0"),
        ("total data, MiB", "0.20", "0.49"),
        ("size/request, KiB", "2.00", "2.00"),
        ("size/second, MiB", "0.02", "0.05"),
    )
    assert table.notes == ("proxy-adaptive: 50 × 503: busy.",)


def test_of_a_load_that_nothing_answered_the_cause_is_said_and_no_cost_of_a_request() -> None:
    nothing = one_load(0.010, 0, failed=7, upstream_calls=3)
    nothing.load.statuses["ConnectionRefusedError"] = 2
    nothing.load.percentiles_s = {}
    (table,) = load_tables({"proxy-fixed": summarize([nothing])})
    rows = rows_of(table)
    assert rows["success rate"] == ("0.00%",)
    of_requests = ("proxy's CPU, ms/request", "embedder's CPU, ms/request",
                   "upstream calls/request", "size/request, KiB")  # fmt: skip
    assert [rows[name] for name in of_requests] == [("–",)] * 4
    assert table.notes == (
        "proxy-fixed: nothing was answered: 7 × 503: busy; 2 × ConnectionRefusedError.",
    )


def test_answers_after_the_end_of_a_load_are_no_part_of_its_rate() -> None:
    late = one_load(0.010, 844)
    late.load.late, late.load.drain_s, late.load.late_bytes = 44, 30.0, 44 * 2048
    (table,) = load_tables({"direct": summarize([late])})
    rows = rows_of(table)
    assert rows["requests per second"] == ("80.0",)
    assert rows["answered after its end"] == ("44 in 30.0 s",)
    assert rows["size/second, MiB"] == ("0.16",)


def test_files_of_before_do_not_say_what_came_after_the_end() -> None:
    earlier = replace(summarize([one_load(0.010, 10)]), drain_s=None)
    (table,) = load_tables({"direct": earlier})
    assert "answered after its end" not in rows_of(table)


def test_sizes_that_a_file_of_before_does_not_say_have_no_rows() -> None:
    direct = replace(summarize([one_load(0.010, 100)]), body_bytes=None)
    (table,) = load_tables({"direct": direct, "proxy-fixed": summarize([one_load(0.010, 100)])})
    assert table.rows[-1][0] == "answers checked, wrong"


def test_the_fastest_answer_is_held_against_directs_of_the_same_round() -> None:
    modes: Modes = {
        "direct": summarize([one_load(0.010, 10), one_load(0.020, 10), one_load(0.001, 10)]),
        "proxy-adaptive": summarize(
            [one_load(0.011, 10), one_load(0.030, 10), one_load(0.009, 10)]
        ),
    }
    (table,) = load_tables(modes)
    assert rows_of(table)["fastest, ms"] == ("10.0", "11.0")
    assert rows_of(table)["… of each round"] == ("1.0–20.0", "9.0–30.0")
    assert table.rows[6] == ("… against direct", "× 1.00", "× 1.50")
    assert table.notes == ("Medians of 3 loads each, one mode after the other.",)


def test_without_direct_and_without_rounds_there_is_nothing_to_hold_against() -> None:
    earlier = replace(summarize([one_load(0.010, 10)]), fastest_s=(), rounds=1)
    (table,) = load_tables({"proxy-fixed": earlier})
    assert [row for row in table.rows if str(row[0]).startswith("…")] == [
        ("… against direct", "–"),
        ("… of each round", "–"),
        ("… against direct", "–"),
    ]


def test_without_a_load_there_is_no_table() -> None:
    assert load_tables({}) == []


def test_metrics_of_a_run_are_quantiles_of_its_requests() -> None:
    samples = [{"taken_s": taken / 100} for taken in range(1, 102)]
    found = embedding.FAMILY.metrics_of(samples, {})
    assert found == pytest.approx({"request_latency_p50": 0.51, "request_latency_p99": 1.0})
    assert embedding.FAMILY.metrics_of([], {}) == {}
