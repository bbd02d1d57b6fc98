"""Draws whatever a folder of results has data for."""

from collections.abc import Sequence
from pathlib import Path

from waitbench import families
from waitbench.analysis import statistics
from waitbench.analysis.bisection_stages import Searched
from waitbench.store import timelines
from waitbench.store.comparisons import Contents

FORMATS = ("png", "svg")


def draw(contents: Contents, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for into the folder. Returns the files."""
    # Here, not above: matplotlib takes a second to import, which no error message should wait for.
    from waitbench.reporting import charts

    compared = statistics.compare_all(contents.records)
    sampled = {scenario: timelines.read(path) for scenario, path in contents.timelines.items()}
    drawn = charts.draw_all(compared, sampled, contents.folder, formats)
    of_families = families.figures(contents)
    return drawn + [
        charts.save(figure, contents.folder, name, form)
        for name, figure in of_families.items()
        for form in formats
    ]


def draw_search(searched: Searched, folder: Path, name: str) -> list[str]:
    """Writes the chart of a search, if anything was measured. Returns the names of the files."""
    from waitbench.reporting import charts
    from waitbench.reporting.charts import search

    figure = search.draw(searched)
    return [charts.save(figure, folder, name, "png").name] if figure is not None else []
