"""``report``: prints folders of results as tables, or writes a page or Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer

from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.pipeline import paging
from waitbench.pipeline.concluding import findings_of, say, tables
from waitbench.reporting.console import print_tables
from waitbench.reporting.findings import summarize
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
  ./waitbench report --html all.html results              # of all there are
"""


def report(
    results: Annotated[
        Optional[list[Path]],
        typer.Argument(
            metavar="RESULTS",
            help="Folders of results, also of several workers; for a page, also folders that "
            "contain some.",
            show_default=f"{shown(RESULTS)}/latest",
        ),
    ] = None,
    markdown: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="Write the answer, and the tables over all scenarios, as Markdown.",
        ),
    ] = None,
    html: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FILE",
            help="Write a page instead: one file for a browser.\n\n"
            "It has the verdict and every run, or what several comparisons show together.",
        ),
    ] = None,
    price: options.CorePrice = None,
    verbose: options.Verbose = 0,
) -> None:
    """Print the answer and tables of folders of results, or write a page of them."""
    output = Output(verbosity=verbose, price=options.parse_price(price))
    if html is not None and markdown is not None:
        raise UsageError("--markdown does not go with --html: leave it out, or --html.")
    if html is not None:
        paging.write(html, results or [folders.existing_folder(None)], output.price)
        output.answers.print(str(html), soft_wrap=True)
        return
    rendered: list[str] = []
    requested: Sequence[Path | None] = results or [None]
    for folder in map(folders.existing_folder, requested):
        side_by_side = paging.side_by_side(folder, output.price)
        print_tables(side_by_side, output.answers)
        rendered += map(render_table, side_by_side)
        rendered += [] if side_by_side else _print(comparisons.read(folder), output)
    if markdown is not None:
        files.write_text(markdown, "\n".join(rendered), named=True)


def _print(contents: StoredComparison, output: Output) -> list[str]:
    """Prints a comparison. Returns it as Markdown."""
    if contents.cut_off:
        output.progress.print(contents.cut_off, soft_wrap=True)
    findings = findings_of(contents)
    say(findings, output)
    rendered = [render_report(summarize(findings))] if findings.comparisons else []
    return [*rendered, *map(render_table, tables(findings, output.price))]
