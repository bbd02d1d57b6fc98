"""``report``: the tables of a folder of results."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench import families
from waitbench.analysis import statistics
from waitbench.cli import options
from waitbench.reporting import summary, tables
from waitbench.reporting import traces as traced
from waitbench.reporting.console import make_console
from waitbench.store import comparisons, folders, traces
from waitbench.system import files

EXAMPLES = """
\b
Examples:
  ./waitbench report
  ./waitbench report docs/samples/scoring --markdown scoring.md
"""


def report(
    results: options.KeptResults = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(metavar="FILE", help="The tables that only a family has, as Markdown."),
    ] = None,
) -> None:
    """Print the tables of a folder of results."""
    output = make_console()
    folder = folders.existing_folder(results)
    contents = comparisons.read(folder)
    compared = [statistics.compare(record) for record in contents.records]
    for comparison in compared:
        tables.print_comparison(comparison, output)
        for table in traced.tables(comparison.scenario, traces.of(folder, comparison.scenario)):
            table.print_to(output)
    of_families = families.tables(contents)
    for table in of_families:
        table.print_to(output)
    if compared:
        summary.print_summary(compared, output)
    if markdown is not None:
        files.write_text(markdown, "\n".join(table.as_markdown() for table in of_families))
