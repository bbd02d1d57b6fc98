"""``report``: the tables of folders of results, or a page of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from waitbench import families
from waitbench.analysis import statistics
from waitbench.model.errors import UsageError
from waitbench.pipeline import paging
from waitbench.reporting import machines, summary
from waitbench.reporting import traces as traced
from waitbench.reporting.comparison import print_comparison
from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.markdown import render_table
from waitbench.store import comparisons, folders, traces
from waitbench.system import files
from waitbench.system.places import RESULTS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench report
  ./waitbench report docs/samples/scoring --markdown scoring.md
  ./waitbench report --html page.html                     # of the last comparison
  ./waitbench report --html history.html results          # of all there are
"""


def report(
    results: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="RESULTS",
            help="Folders of results; for a page also folders with such folders.",
            show_default=f"{shown(RESULTS)}/latest",
        ),
    ] = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="The tables that only a family has, as Markdown."),
    ] = None,
    html: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="Write a page instead, one file to be looked at in a browser.\n\n"
            "It has verdicts, every run, and the history of several comparisons.",
        ),
    ] = None,
    newest: Annotated[
        int, typer.Option(metavar="N", help="Of a page: only so many revisions; 0 for all.")
    ] = 50,
) -> None:
    """Print the tables of folders of results, or write a page of them."""
    if newest < 0:
        raise UsageError(f"--newest {newest}: must not be negative.")
    if html is not None and markdown is not None:
        raise UsageError("--markdown is of what report prints: leave it out, or --html.")
    output = make_console()
    if html is not None:
        paging.write(html, results or [folders.existing_folder(None)], newest)
        output.print(str(html), soft_wrap=True)
        return
    of_families = []
    named: Sequence[Path | None] = results or [None]
    for folder in map(folders.existing_folder, named):
        of_families += _print(folder, output)
    if markdown is not None:
        files.write_text(markdown, "\n".join(map(render_table, of_families)))


def _print(folder: Path, output: Console) -> list[Table]:
    """Prints the tables of a folder. Returns those that only a family has."""
    contents = comparisons.read(folder)
    compared = statistics.compare_all(contents.records)
    for comparison in compared:
        print_comparison(comparison, output)
        found = traces.of(folder, comparison.scenario)
        print_tables(traced.tables(comparison.scenario, found), output)
    of_families = families.tables(contents)
    print_tables(of_families, output)
    if compared:
        summary.print_summary(compared, output)
    where = machines.where_measured(contents.records)
    if where is not None:
        output.print(where, soft_wrap=True)
    return of_families
