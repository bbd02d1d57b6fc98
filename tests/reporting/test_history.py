"""A trend in every form."""

from dataclasses import replace

import pytest

from tests.analysis.test_history import told
from tests.reporting.printing import lines_of
from waitbench.analysis.history import trends as found_in
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Series
from waitbench.reporting import history
from waitbench.reporting.console import print_tables
from waitbench.reporting.document import text_of

STEADY = BY_NAME["steady"]
TRENDS = found_in(told("1", {"v1": 1, "v2": 1, "v3": 2}) + told("2", {"v8": 1, "v9": 1}), "v1")


def test_the_table_has_every_revision_and_says_each_step_at_80_columns() -> None:
    (trend,) = TRENDS
    lines = lines_of(lambda to: print_tables([history.table(trend, "waiting, single", STEADY)], to))
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "waiting, single: steady CPU, relative to v1" in text
    assert "▲ 2.0× more (1.8–2.2×)? ? is provisional: only one session says so." in text
    assert "No session measured beside v1: v8, v9." in text
    assert lines[1].split()[-2:] == ["change", "point"], "what is drawn is on a page only"


def test_a_long_history_shows_its_newest_and_those_at_steps() -> None:
    costs = {f"v{number}": 1.0 if number < 3 else 2.0 for number in range(1, 30)}
    (trend,) = found_in(told("1", costs) + told("2", costs), "v1")
    shown = history.table(trend, "waiting, single", STEADY, newest=4)
    names = [text_of(row[0]).split()[1] for row in shown.rows]
    assert names == ["v1", "v2", "v3", "v26", "v27", "v28", "v29"]
    assert "22 older revisions are left out: --format csv has all." in shown.notes
    assert len(history.table(trend, "waiting, single", STEADY).rows) == 29


def test_series_that_differ_in_a_parameter_are_told_apart_in_every_form() -> None:
    (short,) = TRENDS
    series = short.series
    long = replace(short, series=Series.of(series.scenario, series.topology, {"partitions": 20}))
    elsewhere = replace(long, machine="another")
    assert list(history.titled([short, long])) == [
        "waiting, single, partitions 2", "waiting, single, partitions 20"
    ]  # fmt: skip
    assert len(history.titled([short, long, elsewhere])) == 3
    rows = history.plain([short, elsewhere], STEADY)
    assert [row["revision"] for row in rows] == ["v1", "v2", "v3"] * 2
    assert len({row["parameters"] + row["machine"] for row in rows}) == 2
    assert rows[2]["step"] == pytest.approx(2)
    assert (rows[2]["provisional"], rows[1]["provisional"]) == (True, None)
    header, *lines = history.as_csv(rows).splitlines()
    assert (header.split(",")[0], len(lines)) == ("scenario", 6)
