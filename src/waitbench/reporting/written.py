"""What a worker measures of itself -> a table a scenario, a row a metric, a column a revision."""

from collections.abc import Iterable

from waitbench.analysis.statistics import Comparison, Row
from waitbench.model.metrics import Metric
from waitbench.reporting.document import Cell, Heading, Table, Value
from waitbench.reporting.formats import NOTHING

UNTIL_EXIT = ("window", "cpu-window")
"""What is known besides of a command that ends by itself."""


def tables(comparisons: Iterable[Comparison]) -> list[Table]:
    """The metrics that worker files declare; none where none do."""
    return [table for one in comparisons for table in _tables(one)]


def _tables(comparison: Comparison) -> list[Table]:
    shown = [one for one in comparison.record.metrics if one.is_own or one.name in UNTIL_EXIT]
    found = [one for one in shown if any(one.name in row.estimates for row in comparison.rows)]
    if not found:
        return []
    return [
        Table(
            title=f"{comparison.scenario} · what the command measured",
            header=("metric", *(Heading(row.label, is_left=False) for row in comparison.rows)),
            rows=tuple((one.title, *(_cell(row, one) for row in comparison.rows)) for one in found),
            least=12,
        )
    ]


def _cell(row: Row, metric: Metric) -> Cell:
    if metric.name not in row.estimates:
        return NOTHING
    return Value(row.estimates[metric.name], metric, row.ratios.get(metric.name))
