"""A results folder -> what a family says of itself beyond the metrics that all share: tables and pictures. One module a family."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from waitbench.families.embedding import report as embedding
from waitbench.families.paged_output import report as paged_output
from waitbench.families.scoring import report as scoring
from waitbench.reporting.family_table import FamilyTable
from waitbench.store.results import Contents

_REPORTS = (scoring, embedding, paged_output)


def tables(contents: Contents) -> list[FamilyTable]:
    """The tables of every family that has left anything here."""
    return [table for report in _REPORTS for table in report.tables(contents)]


def figures(contents: Contents) -> Mapping[str, Figure]:
    """The pictures of every family that has left anything here, by the name of their file."""
    return {name: figure for report in _REPORTS for name, figure in report.figures(contents).items()}
