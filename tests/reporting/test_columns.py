"""Tables on consoles of any width: nothing is cropped, and names differ."""

from collections.abc import Callable

import pytest
from rich.console import Console

from tests.gate_runs import record_of, rounds, scaled, verdict_of
from tests.records import make_record, times
from tests.reporting.printing import lines_of
from tests.reporting.test_comparison import COUNTED, WAITING
from waitbench.analysis import statistics
from waitbench.reporting import comparison, gate, summary
from waitbench.reporting.console import print_cells, print_document, print_tables
from waitbench.reporting.document import Table

LABELS = [f"a-release-candidate-{number:02}-of-the-long-branch"[:40] for number in range(10)]
RUNS = [{**times(123.4 + i, 99.9 + i, 0.5), **WAITING, **COUNTED} for i in range(4)]
COMPARISON = statistics.compare(make_record(dict.fromkeys(LABELS, RUNS)))
VERDICT = verdict_of(
    record_of(rounds(1, 0.5), scaled(rounds(1, 0.5), system=1.5)),
    criteria=["system:10%", "cpu:50%", "user:12.5%,20ms"],
)
MODES = Table(
    "embedding", ("", "direct", "proxy-fixed"), (("requests per second", "12,345", "6,789"),)
)

SHOWN: dict[str, Callable[[Console], None]] = {
    "tables": lambda console: comparison.print_comparison(COMPARISON, console),
    "summary": lambda console: summary.print_summary([COMPARISON], console),
    "gate": lambda console: print_document(gate.document(VERDICT), console),
    "cells": lambda console: print_tables([MODES], console),
}


def words_of(lines: list[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("width", [80, 40])
def test_figures_and_headings_are_as_on_a_wide_console(name: str, width: int) -> None:
    lines = lines_of(SHOWN[name], width)
    assert max(map(len, lines)) <= width
    wide = words_of(lines_of(SHOWN[name], 1000))
    assert {w for w in wide - words_of(lines) if not w.startswith(("a-release", "req"))} == set()


@pytest.mark.parametrize("width", [80, 40])
def test_labels_that_differ_in_the_middle_are_shown_so(width: int) -> None:
    lines = lines_of(SHOWN["tables"], width)
    first = [line.split()[0] for line in lines if line.startswith("a-rel")][: len(LABELS)]
    assert len(set(first)) == len(LABELS)


def test_a_console_too_narrow_for_one_column_crops_nothing_either() -> None:
    assert "124.90" in words_of(lines_of(SHOWN["tables"], 10))


def test_what_fits_stands_in_one_table_and_the_last_names_give_way_first() -> None:
    table = Table(
        "", ("a", "b", *"cde"), (("x" * 20, "y" * 20, *["12345678"] * 3),), names=2, least=12
    )
    for width, widths, blocks in (
        (72, [20, 20], [3]), (70, [20, 18], [3]), (60, [16, 12], [3]), (55, [20, 13], [2, 1]),
        (1, [12, 12], [1, 1, 1]),
    ):  # fmt: skip
        rows = [line.split() for line in lines_of(lambda to: print_cells(table, to), width)[1::2]]
        assert [len(row) - 2 for row in rows] == blocks, width
        assert list(map(len, rows[0][:2])) == widths, width
