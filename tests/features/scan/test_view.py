"""Views of scans: notes, tables, pages, charts and JSON."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.features.scan.scanned import VALUES, late_records, scan_records
from tests.frozen.checking import check, page_text
from tests.reporting.made_up import page_of
from tests.store.keeping import finish
from waitbench.analysis import statistics
from waitbench.features.scan.extension import ScanExtension
from waitbench.model.record import ScenarioResults
from waitbench.pipeline.concluding import as_json, findings_of
from waitbench.reporting.charts import draw_table
from waitbench.reporting.document import text_of
from waitbench.reporting.findings import findings
from waitbench.store import comparisons

EXPECTED = Path(__file__).parent / "expected"
CASES: dict[str, Callable[[], list[ScenarioResults]]] = {
    "a scan": lambda: scan_records(
        {
            "v0": lambda n: 0.02 + 0.0002 * n,
            "triple": lambda n: 0.02 + 0.0006 * n,
            "square": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2,
        }
    ),
    "a scan of one round": lambda: scan_records(
        {"v0": lambda n: 0.02 + 0.0002 * n, "v1": lambda n: 0.02 + 0.0004 * n}, rounds=1
    ),
    "a scan of one revision": lambda: scan_records({"v0": lambda n: 0.02 + 0.0002 * n}),
}


def notes_of(records: list[ScenarioResults]) -> list[str]:
    contribution = ScanExtension().contribution(Path(), records)
    compared = [statistics.compare(record) for record in records]
    all_notes = findings(compared, contributions=[contribution]).notes
    return [f"{note.level} {note.text}" for note in all_notes]


def test_each_fact_is_said_once() -> None:
    texts = ["\n".join([f"# {name}", *notes_of(made()), ""]) for name, made in CASES.items()]
    check("notes.txt", "\n".join((*texts, "")), EXPECTED)


def test_a_page_has_the_table_of_a_scan() -> None:
    page = page_of(*scan_records({"a": lambda n: 0.02 + 2e-4 * n}))
    check("page.txt", page_text(page), EXPECTED)


def test_a_comparison_as_json_has_its_scans(tmp_path: Path) -> None:
    finish(tmp_path, *scan_records({"a": lambda v: 0.001 * v, "b": lambda v: 0.002 * v}))
    known = findings_of(comparisons.read(tmp_path))
    check("scans.json", f"{json.dumps(as_json(known), indent=2)}\n", EXPECTED)


def test_a_chart_has_lateness_beside_the_cost() -> None:
    records = late_records({"a": lambda _: 0.02, "b": lambda n: 0.02 / n})
    charts = ScanExtension().contribution(Path(), records).charts
    assert [*charts] == ["idle-partitions-scan"]
    table = charts["idle-partitions-scan"]
    assert [heading.text for heading in table.headings][::5] == ["partitions", "late"]
    assert len(table.rows) == 2 * len(VALUES)
    assert [text_of(row[-1]) for row in table.rows[:2]] == ["10 ms", "10 ms"]
    (axes,) = draw_table(table).axes
    assert [text.get_text() for text in axes.texts].count("10 ms") == 2
