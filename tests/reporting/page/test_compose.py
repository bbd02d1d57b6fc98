"""What a page shows of one comparison, and of many."""

import vl_convert

from tests.reporting.page.made_up import kept, trends_of
from waitbench.reporting.page import compose, document
from waitbench.reporting.page.parts import Chart, Page

ONE = kept("one", ("v1", "v2"), ("idle", "busy"))
LONG = [kept(f"{night}", ("v1", f"v{night}"), rise=0.0) for night in range(2, 6)]
MANY = [kept("one", ("v1", "v2")), kept("two", ("v1", "v2", "v3"))]


def charts(page: Page) -> list[Chart]:
    return [c for section in page.sections for part in section.parts for c in part.charts]


def test_a_page_of_one_comparison_begins_with_its_sentence_and_a_matrix() -> None:
    page = compose.page([ONE])
    assert page.title == "v2 against v1"
    assert "slower in 2" in page.lead[0]
    steady = page.matrices[0]
    assert [one.text for one in steady.header] == ["revision", "idle", "busy"]
    assert [cell.text for cell in steady.rows[0]] == ["v2", "× 1.49 ▲", "× 1.49 ▲"]
    assert [one.target for one in steady.header] == [None, "idle", "busy"]
    assert [section.id for section in page.sections] == ["idle", "busy"]
    assert [chart.title for chart in charts(page)[:4]] == [
        "Every run", "CPU against lateness: lower left is better", "Where the CPU went",
        "Threads over time",
    ]  # fmt: skip
    assert page.sources[0].command == "./waitbench compare"


def test_a_page_of_many_begins_with_the_steps_and_has_every_trend() -> None:
    page = compose.page(MANY, trends_of(MANY))
    assert "rose with v2" in page.lead[0]
    assert [row[0].text for row in page.matrices[0].rows] == ["v3", "v2", "v1"]
    parts = page.sections[0].parts
    assert [part.title for part in parts[:2]] == [
        "The workers' steady CPU, through history", "CPU time, through history",
    ]  # fmt: skip
    assert len(parts) == 4 + 2


def test_only_the_newest_revisions_are_beside_all_scenarios() -> None:
    page = compose.page(MANY, trends_of(MANY), newest=1)
    assert [row[0].text for row in page.matrices[0].rows] == ["v3"]
    # Beside them the anchor, and those at a step.
    along = compose.page(LONG, trends_of(LONG), newest=1).sections[0].parts[0]
    assert [row[0].text for row in along.tables[0].rows] == ["v1", "v5"]
    assert [row["revision"] for row in along.charts[0].rows] == ["v1", "v5"]


def test_what_differs_in_its_parameters_or_name_has_a_link_of_its_own() -> None:
    page = compose.page([kept("one", ("v1", "v2"), ("a b", "a-b", "é", "how"))])
    assert [section.id for section in page.sections] == [
        "a-b", "a-b-2", "scenario", "how-2",
    ]  # fmt: skip


def test_every_chart_is_a_specification_that_compiles() -> None:
    for page in (compose.page([ONE]), compose.page(MANY, trends_of(MANY))):
        for chart in charts(page):
            vl_convert.vegalite_to_vega({**chart.spec, "data": {"values": list(chart.rows)}})


def test_equal_specifications_stand_once() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    one, eight = (
        document.render(compose.page([kept("one", ("v1", "v2"), chosen)]))
        for chosen in (names[:1], names)
    )
    assert one.count('"strokeDash"') == eight.count('"strokeDash"')
    assert one.count("cpu against") == eight.count("cpu against")


def test_fifty_revisions_in_eight_scenarios_are_at_most_3_megabytes() -> None:
    names = [f"scenario-{number}" for number in range(8)]
    nights = [
        kept(f"night {number}", ("v0.1", f"v0.{number}", f"v0.{number + 1}"), names, sampled=False)
        for number in range(2, 52)
    ]
    page = compose.page(nights, trends_of(nights), newest=50)
    assert len(page.matrices[0].rows) == 50
    assert len(document.render(page).encode()) <= 3_000_000
