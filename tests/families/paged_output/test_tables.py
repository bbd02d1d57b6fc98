"""The published tables, remade: what is in each cell."""

from tests.families.paged_output.rows import measured
from waitbench.families.paged_output.paging import Paging
from waitbench.families.paged_output.tables import tables


def test_each_device_has_a_table_against_what_was_published() -> None:
    rows = [
        measured("noop", 100_000, published_speedup=2.28),
        measured("passthrough", 10_000, published_speedup=5.7, page_size=8192),
    ]
    noop, passthrough, _ = tables(Paging(rows, 0.0))
    assert noop.title == "paged-output · noop"
    assert noop.header == ("total bytes", "regular (µs)", "paged (µs)", "speed-up", "published")
    assert noop.rows == (("2,500,000", "2,000,000", "500,000", "4.00", "2.28"),)
    assert passthrough.title == "paged-output · passthrough"
    assert passthrough.rows == (("250,000, page 8192", "2,000,000", "500,000", "4.00", "5.70"),)


def test_what_was_shed_is_held_against_what_was_published() -> None:
    rows = [
        measured("passthrough", 100_000, buffer=100, dropped=1234, published_dropped=0.0483),
        measured("slow", 1_000, buffer=2, dropped=500),
    ]
    shedding, _ = tables(Paging(rows, 0.0))
    assert "load shedding" in shedding.title
    assert shedding.rows == (
        ("passthrough", "100,000 × 25", "100", "4.00", "1.23%", "4.83%"),
        ("slow", "1,000 × 25", "2", "4.00", "50.00%", "–"),
    )


def test_memory_is_held_against_what_is_allowed_and_cpu_is_of_a_message() -> None:
    rows = [measured(), measured("passthrough", 2000, buffer=5_000, page_size=2048)]
    *_, costs = tables(Paging(rows, 0.000_071))
    assert costs.header == ("", "held", "allowed", "regular", "paged", "ratio")
    assert costs.rows == (
        ("noop, 1,000 × 25", "2", "981", "1000.00", "250.00", "0.25"),
        (
            "passthrough, 2,000 × 25, page 2048, buffer 5,000",
            "2",
            "124",
            "500.00",
            "125.00",
            "0.25",
        ),
    )
    assert costs.notes[1] == "An idle paged writer uses 0.0071% of a core."


def test_without_rows_there_is_no_table() -> None:
    assert tables(None) == []
    assert tables(Paging([], 0.0)) == []
