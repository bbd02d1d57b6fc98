"""A trend in every form."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.features.history.test_trends import told
from tests.frozen.checking import check
from tests.reporting.printing import lines_of
from waitbench.features.history import view
from waitbench.features.history.trends import trends as found_in
from waitbench.model.record import Series
from waitbench.reporting.console import print_tables
from waitbench.reporting.document import Table

EXPECTED = Path(__file__).parent / "expected"

TRENDS = found_in(told("1", {"v1": 1, "v2": 1, "v3": 2}) + told("2", {"v8": 1, "v9": 1}), "v1")
LONG = {f"v{number}": 1.0 if number < 3 else 2.0 for number in range(1, 30)}
(LENGTHY,) = found_in(told("1", LONG) + told("2", LONG), "v1")


def test_series_that_differ_in_a_parameter_are_told_apart_in_every_form() -> None:
    (short,) = TRENDS
    series = short.series
    long = replace(short, series=Series(series.scenario, series.topology, '{"partitions": 20}'))
    elsewhere = replace(long, machine="another")
    assert [view.title_of(it, [short, long]) for it in (short, long)] == [
        "waiting, single, partitions 2", "waiting, single, partitions 20"
    ]  # fmt: skip
    every = [short, long, elsewhere]
    assert len({view.title_of(it, every) for it in every}) == 3
    rows = view.as_json([short, elsewhere])
    assert [row["revision"] for row in rows] == ["v1", "v2", "v3"] * 2
    assert len({(row["parameters"]["partitions"], row["machine"]) for row in rows}) == 2
    assert rows[2]["step"]["value"] == pytest.approx(2)
    assert (rows[2]["provisional"], rows[1]["provisional"]) == (True, None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short-80.txt", [view.table(trend, "waiting") for trend in TRENDS]),
        ("long-80.txt", [view.table(LENGTHY, "waiting", newest=4)]),
    ],
)
def test_a_table_fits_80_columns(name: str, shown: list[Table]) -> None:
    lines = lines_of(lambda console: print_tables(shown, console), 80)
    assert max(map(len, lines)) <= 80
    check(name, "\n".join([*lines, ""]), EXPECTED)
