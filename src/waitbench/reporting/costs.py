"""What waiting costs over all scenarios: in plain units, and against a number that was scanned."""

from collections.abc import Iterable, Sequence

from waitbench.analysis.scan import scans
from waitbench.analysis.statistics import Comparison
from waitbench.model.record import Record
from waitbench.reporting import idle, scan, written
from waitbench.reporting.document import Table
from waitbench.reporting.idle import Price


def tables(
    comparisons: Sequence[Comparison],
    records: Iterable[Record],
    price: Price | None,
    *,
    brief: bool = False,
) -> list[Table]:
    """Costs of waiting, in money too where a core-hour has a price, and the curves of scans.

    In brief without those in plain units, unless there is a price.
    """
    has_units = price is not None or not brief
    return [
        *(idle.tables(comparisons, price) if has_units else ()),
        *written.tables(comparisons),
        *scan.tables(scans(records)),
    ]
