"""What is said of a scan, on a console, in Markdown, on a page, as JSON and as a picture."""

from pathlib import Path

from tests.analysis.scanned import VALUES, scan_records
from tests.records import disturb, outcome
from tests.reporting.made_up import page_of
from waitbench.analysis import statistics
from waitbench.analysis.scan import Scanned, scans
from waitbench.model.record import Record
from waitbench.model.run import TIMED_OUT
from waitbench.reporting import charts, scan
from waitbench.reporting.answer import Findings, findings

COSTS = {
    "v1": lambda n: 0.02 + 0.0002 * n,
    "v2": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2,
}


def scanned(records: list[Record] | None = None) -> Scanned:
    (found,) = scans(scan_records(COSTS) if records is None else records)
    return found


def test_a_page_begins_with_the_curve_and_keeps_every_value() -> None:
    page = page_of(*scan_records(COSTS))
    curve, *others = page.sections
    assert curve.title == "idle by partitions · 5 rounds"
    assert len([one for one in others if one.title.startswith("idle@")]) == len(VALUES)
    assert "currentColor" in curve.pictures[0]
    assert [table.title for table in curve.tables] == [
        one.title for one in scan.tables([scanned()])
    ]


def test_a_chart_of_a_scan_is_written_instead_of_one_for_each_value(tmp_path: Path) -> None:
    drawn = charts.draw_all(Findings(), tmp_path, ("svg",), [scanned()])
    assert [path.name for path in drawn] == ["idle-partitions-scan.svg"]
    text = drawn[0].read_text("utf-8")
    assert "partitions" in text
    assert "% of a core" in text


def test_what_failed_and_what_was_disturbed_is_said_where_every_report_says_it() -> None:
    records = scan_records(COSTS)
    records[-1].add(outcome("v2", 6, TIMED_OUT, message="still running after 30 s"))
    for record in records:
        disturb(record, 4)
    found = findings([*map(statistics.compare, records)], scanned=scans(records))
    texts = " ".join(note.text for note in found.notes)
    assert "v2, 1 run of idle@partitions=1024 failed: still running after 30 s" in texts
    assert "disturbed by other programs" in texts


def test_the_headlines_say_what_each_input_adds_and_where_no_line_fits() -> None:
    costs = {"v0": COSTS["v1"], "dear": lambda n: 0.02 + 0.0006 * n, "square": COSTS["v2"]}
    dear, square = scan.headlines([scanned(scan_records(costs))])
    assert (dear.level, dear.text) == (
        "▲",
        "dear: 3.0× more CPU for each partition (95 %: 3.0×)",
    )
    assert square.level == "!"
    assert square.text.startswith("square: not a line: the cost at 1,024 partitions is more")
    (alone,) = scan.headlines([scanned(scan_records({"v0": COSTS["v1"]}))])
    assert alone.text.startswith("v0: each partition 20")
