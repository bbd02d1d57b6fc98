"""What waiting costs over all scenarios: in plain units, and against a number that was scanned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from waitbench.analysis.scan import scans
from waitbench.analysis.statistics import Comparison
from waitbench.model.record import Record
from waitbench.reporting import idle, scan, written
from waitbench.reporting.document import Table
from waitbench.reporting.idle import Price


@dataclass(frozen=True, kw_only=True)
class Units:
    """What the user says of money."""

    price: Price | None = None
    """What a core costs by the hour."""


AS_IT_IS = Units()
"""Nothing is said."""


def tables(
    comparisons: Sequence[Comparison],
    records: Iterable[Record],
    units: Units,
    *,
    brief: bool = False,
) -> list[Table]:
    """Costs of waiting, in the units of the user, and the curves of scans.

    In brief without those in plain units, unless there is a price.
    """
    has_units = units.price is not None or not brief
    return [
        *(idle.tables(comparisons, units.price) if has_units else ()),
        *written.tables(comparisons),
        *scan.tables(scans(records)),
    ]
