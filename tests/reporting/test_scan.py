"""What is said of a scan, on a console, in Markdown, on a page, as JSON and as a picture."""

from tests.analysis.scanned import scan_records
from waitbench.analysis.scan import Scanned, scans
from waitbench.model.record import Record
from waitbench.reporting import scan

COSTS = {
    "v1": lambda n: 0.02 + 0.0002 * n,
    "v2": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2,
}


def scanned(records: list[Record] | None = None) -> Scanned:
    (found,) = scans(scan_records(COSTS) if records is None else records)
    return found


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
