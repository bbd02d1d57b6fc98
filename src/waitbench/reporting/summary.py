"""What the candidates of comparisons, their costs and their verdicts are called.

What is judged is the CPU that the workers use in the steady phase; where nothing reports it, as in
a user's own dataflow, or where engines have other work in it, total CPU.
"""

from collections.abc import Sequence

from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.statistics import Comparison, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.reporting.formats import format_limit

MARKS = {
    Verdict.FASTER: "▼",
    Verdict.SLOWER: "▲",
    Verdict.WITHIN_MARGIN: "=",
    Verdict.INCONCLUSIVE: "?",
}
"""What tells verdicts apart to who cannot tell the colours apart."""
HARMLESS, BROKEN = "–", "✗"
"""Stand where there is no verdict: there can be none, or something failed."""
ACCEPTED = "accepted"
"""What is said of a regression that the project accepts for a time."""
NOT_COMPARED = "not compared"
_NOT_SUPPORTED = "not supported"


def candidates(comparisons: Sequence[Comparison]) -> list[tuple[Comparison, Row]]:
    """Every candidate of every scenario."""
    return [(comparison, row) for comparison in comparisons for row in comparison.rows[1:]]


def judged_by(comparison: Comparison, row: Row) -> str:
    """The metric of the verdict; where there is none, what it would have been of."""
    known = {**comparison.baseline.estimates, **row.estimates}
    return row.judged_by if row.judged or "steady" not in known else "steady"


def lacking(comparison: Comparison, row: Row) -> str:
    """Why there is no verdict on a candidate; empty where there is one."""
    if row.judged is not None:
        return NOT_COMPARED if uncompared(comparison, row, BY_NAME[row.judged_by]) else ""
    if row.ratios:
        return "no ratio"
    is_unsupported = comparison.baseline.is_unsupported or row.is_unsupported
    return _NOT_SUPPORTED if is_unsupported else "not measured"


def mark_of(reason: str) -> str:
    """The mark of what lacks a verdict for this reason."""
    return HARMLESS if reason in (_NOT_SUPPORTED, NOT_COMPARED) else BROKEN


def uncompared(comparison: Comparison, row: Row, metric: Metric) -> str:
    """Why a ratio says nothing: on both sides there are runs below the metric's floor.

    These count as the floor, so that the ratio is 1 by construction, or anything by chance. Empty
    where it says something.
    """
    record = comparison.record
    label = record.context.labels[comparison.rows.index(row)]
    sides = zip(*paired_by_round(record, label, metric).values(), strict=True)
    if not all(min(side) < metric.floor for side in sides):
        return ""
    both = (comparison.baseline, row)
    is_below = all(one.estimates[metric.name].value < metric.floor for one in both)
    return f"{'below' if is_below else 'near'} {format_limit(metric.floor, metric)}"
