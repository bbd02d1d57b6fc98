"""``plot``: the charts of a folder of results."""

from enum import Enum
from typing import Annotated

import typer

from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.pipeline.concluding import findings_of
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
    """The format of a chart's file."""

    PNG = "png"
    SVG = "svg"


def plot(
    results: options.SavedResults = None,
    formats: Annotated[
        list[Format],
        typer.Option("--format", "-f", metavar="png|svg", help="Repeatable."),
    ] = [Format.PNG],
) -> None:
    """Draw the charts of a folder of results."""
    output = make_console()
    folder = folders.existing_folder(results)
    known = findings_of(comparisons.read(folder))
    # Imported late: matplotlib takes a second, for which no error message should wait.
    from waitbench.reporting import charts

    paths = charts.draw_all(known, [chosen.value for chosen in formats])
    if not paths:
        raise UsageError(f"Nothing was measured in {str(folder)!r}. {comparisons.MEASURE_FIRST}")
    for path in paths:
        output.print(str(path), soft_wrap=True)
