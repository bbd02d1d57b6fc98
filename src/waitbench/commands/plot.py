"""``plot``: the charts of a folder of results."""

from enum import Enum
from typing import Annotated

import typer

from waitbench.commands import options
from waitbench.pipeline import concluding
from waitbench.reporting.console import make_console
from waitbench.store import comparisons, folders

EXAMPLES = """
\b
Examples:
  ./plot.sh
  ./plot.sh docs/samples/input --format svg
  ./plot.sh --format png --format svg
"""


class Format(str, Enum):
    """Of a chart's file."""

    PNG = "png"
    SVG = "svg"


def plot(
    results: options.KeptResults = None,
    formats: Annotated[
        list[Format],
        typer.Option("--format", "-f", metavar="png|svg", help="Repeatable."),
    ] = [Format.PNG],
) -> None:
    """Draw the charts of a folder of results."""
    output = make_console()
    contents = comparisons.read(folders.existing_folder(results))
    for path in concluding.draw(concluding.conclusion_of(contents), [one.value for one in formats]):
        output.print(str(path), soft_wrap=True)
