"""``plot``: the charts of a folder of results."""

from typing import Annotated

import typer

from waitbench.commands import options
from waitbench.model.errors import UsageError
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


def plot(
    results: options.KeptResults = None,
    formats: Annotated[
        list[str],
        typer.Option("--format", "-f", metavar="png|svg", help="Repeatable."),
    ] = ["png"],
) -> None:
    """Draw the charts of a folder of results."""
    for name in formats:
        if name not in concluding.CHART_FORMATS:
            raise UsageError(
                f"--format {name!r} is not one of: {', '.join(concluding.CHART_FORMATS)}."
            )
    output = make_console()
    contents = comparisons.read(folders.existing_folder(results))
    for path in concluding.draw(concluding.conclusion_of(contents), formats):
        output.print(str(path), soft_wrap=True)
