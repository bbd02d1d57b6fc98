"""Records -> what a family says of itself beyond the metrics that all share: tables and pictures. One module a family."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from harness.family_reports import embedding, paged_output, scoring
from harness.family_reports.table import FamilyTable
from harness.results import Record

_REPORTS = (scoring, embedding, paged_output)


def tables(records: Sequence[Record]) -> list[FamilyTable]:
    """The tables of every family that has runs here."""
    return [table for report in _REPORTS for table in report.tables(records)]


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """The pictures of every family that has runs here, by the name of their file."""
    return {name: figure for report in _REPORTS for name, figure in report.figures(records).items()}
