"""The table of system calls, and the sentence of what changed."""

import pytest

from tests.reporting.printing import lines_of_table
from tests.traces import trace
from waitbench.model.run import SHUTDOWN
from waitbench.reporting.traces import sentence, tables


def test_the_candidate_stands_beside_the_baseline_by_phase_and_call() -> None:
    before, after = {"futex": 160, "read": 40}, {"futex": 201, "read": 40}
    (table,) = tables("waiting", [trace("a", before), trace("b", after)])
    assert lines_of_table(table) == [
        "waiting · the workers' system calls",
        "          a calls     CPU  b calls     CPU  a second",
        "startup         0  0.0 ms        0  0.0 ms",
        "steady        200  0.2 ms      241  0.2 ms       +41",
        "  futex       160  0.2 ms      201  0.2 ms       +41",
        "  read         40  0.0 ms       40  0.0 ms        +0",
        "shutdown        0  0.0 ms        0  0.0 ms",
        "b against a, one traced run each: futex + 26 %, 41 more a second.",
        "",
    ]


def test_a_table_fits_80_columns_whatever_the_labels() -> None:
    names = {"clock_nanosleep": 12_345_678, "futex": 9_876_543}
    long = [trace(letter * 60, names) for letter in "ab"]
    (table,) = tables("waiting", long)
    assert max(map(len, lines_of_table(table))) <= 80
    assert any("clock_nanosleep" in line for line in lines_of_table(table))


def test_each_candidate_has_a_table_and_a_baseline_alone_has_one() -> None:
    three = [trace(label, {"futex": 1}) for label in "abc"]
    assert [table.header[1:4:2] for table in tables("waiting", three)] == [
        ("a calls", "b calls"),
        ("a calls", "c calls"),
    ]
    (alone,) = tables("waiting", three[:1])
    assert (alone.header, alone.notes) == (("", "a calls", "CPU"), ())


def test_what_hardly_occurs_is_summed_up() -> None:
    calls = {"futex": 10_000, "read": 5, "write": 6, "mmap": 500}
    (table,) = tables("waiting", [trace("a", calls)])
    _startup, *steady, _shutdown = (row[:2] for row in table.rows)
    assert steady == [
        ("steady", "10,511"), ("  futex", "10,000"), ("  mmap", "500"), ("  2 others", "11"),
    ]  # fmt: skip


def test_only_the_most_expensive_calls_of_a_phase_have_a_row() -> None:
    many = {f"call{number}": 100 + number for number in range(9)}
    (table,) = tables("waiting", [trace("a", many, phase=SHUTDOWN)])
    assert [row[0] for row in table.rows if str(row[0]).startswith("  ")] == [
        "  call8", "  call7", "  call6", "  6 others",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"futex": 100}, {"futex": 104}, "the same system calls, about as often"),
        ({"read": 1000}, {}, "read is gone, 1,000 fewer a second"),
        ({}, {"read": 1000}, "read is new, 1,000 a second"),
        ({"read": 9000, "rare": 80}, {"read": 9000}, "the same system calls, about as often"),
        ({"read": 200}, {"read": 100}, "read – 50 %, 100 fewer a second"),
        ({"a": 10, "b": 10, "c": 10, "d": 10}, {"a": 20, "b": 50, "c": 30, "d": 40},
         "b + 400 %, 40 more a second; d + 300 %, 30 more a second; c + 200 %, 20 more a second"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_changed_most(
    before: dict[str, int], after: dict[str, int], said: str
) -> None:
    about = "b against a, one traced run each"
    assert sentence(trace("a", before), trace("b", after)) == f"{about}: {said}."


def test_rates_are_compared_where_one_revision_takes_longer() -> None:
    told = sentence(trace("a", {"futex": 100}, s=1), trace("b", {"futex": 200}, s=2))
    assert "the same system calls" in told


def test_a_revision_without_a_trace_is_named_with_the_reason() -> None:
    (table,) = tables("waiting", [trace("a", {"futex": 1})], {"b": "events were lost\nand more"})
    assert table.notes == ("b: no trace: events were lost",)
    (empty,) = tables("waiting", [], {"a": "events were lost"})
    assert lines_of_table(empty)[-2:] == ["a: no trace: events were lost", ""]
    assert tables("waiting", []) == []
