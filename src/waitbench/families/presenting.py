"""What the commands of families show at their end: tables, charts, and where everything is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from waitbench.reporting import charts
from waitbench.reporting.console import print_tables
from waitbench.reporting.document import Table


def show(
    tables: Sequence[Table],
    figures: Mapping[str, Figure],
    folder: Path,
    document: str,
    output: Console,
) -> None:
    """Prints the tables, draws the charts, and says where everything is.

    Raises ``HarnessError`` when the disk refuses.
    """
    print_tables(tables, output)
    drawn = [charts.save(figure, folder, name, "png").name for name, figure in figures.items()]
    output.print(
        f"Results in {folder}: {', '.join([f'{document}.json', *drawn])}",
        soft_wrap=True,
    )
