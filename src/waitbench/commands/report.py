"""``report``: prints the results in folders, or writes them as a page or as Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.pipeline import gathering
from waitbench.pipeline.concluding import findings_of, page_of, print_results, tables
from waitbench.reporting.console import print_tables
from waitbench.reporting.findings import summarize
from waitbench.reporting.html import render
from waitbench.reporting.markdown import render_report, render_table
from waitbench.reporting.output import Output
from waitbench.store import comparisons, folders
from waitbench.store.comparisons import StoredComparison
from waitbench.system import files
from waitbench.system.paths import RESULTS, shown

EXAMPLES = """
\b
Examples:
  ./waitbench report
  ./waitbench report docs/samples/input --markdown input.md
  ./waitbench report --html page.html                     # of the last comparison
"""


def report(
    results: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="RESULTS",
            help="Folders of results, or the parent of workers' folders; only one for a page.",
            show_default=f"{shown(RESULTS)}/latest",
        ),
    ] = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE", help="Write the answer, and the tables over all scenarios, as Markdown."
        ),
    ] = None,
    html: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="Write a page instead: one file for a browser.\n\n"
            "It has the verdict and every run.",
        ),
    ] = None,
    price: options.CorePrice = None,
    verbose: options.Verbose = 0,
) -> None:
    """Print the answer and tables of folders of results, or write a page of one."""
    requested: Sequence[Path | None] = results or [None]
    output = Output(verbosity=verbose, price=price)
    if html is not None and markdown is not None:
        raise UsageError("--markdown does not go with --html: leave it out, or --html.")
    if html is not None:
        if len(requested) > 1:
            raise UsageError("--html writes the page of one comparison: name one folder.")
        contents = comparisons.read(folders.existing_folder(requested[0]))
        files.write_text(html, render(page_of(contents, output.price)), named=True)
        output.answers.print(str(html), soft_wrap=True)
        return
    rendered: list[str] = []
    for folder in map(folders.existing_folder, requested):
        of_workers = gathering.table_of_workers(folder, output.price)
        print_tables(of_workers, output.answers)
        rendered += map(render_table, of_workers)
        rendered += [] if of_workers else _print(comparisons.read(folder), output)
    if markdown is not None:
        files.write_text(markdown, "\n".join(rendered), named=True)


def _print(contents: StoredComparison, output: Output) -> list[str]:
    """Prints a comparison. Returns its parts as Markdown."""
    if contents.cut_off:
        output.progress.print(contents.cut_off, soft_wrap=True)
    findings = findings_of(contents)
    print_results(findings, output)
    rendered = [render_report(summarize(findings))] if findings.comparisons else []
    return [*rendered, *map(render_table, tables(findings, output.price))]
