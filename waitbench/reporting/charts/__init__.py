"""Comparisons -> charts, as PNG or SVG files. Needs no display. One module a kind of picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from waitbench.analysis.statistics import Comparison
from waitbench.execution.timeline import Sample
from waitbench.model.errors import HarnessError
from waitbench.reporting.charts import bars, timeline, tradeoff

OVERVIEW_NAME = "overview"


def draw_all(
    comparisons: Sequence[Comparison], timelines: Mapping[str, Sequence[Sample]], folder: Path, formats: Sequence[str]
) -> list[Path]:
    """Writes every chart there is data for, in every format. Returns the files.

    ``<scenario>``: real, user and system time; ``overview``: the same for all; ``<scenario>-tradeoff``: CPU against
    latency, where items are due over time; ``<scenario>-timeline``: CPU share of each thread, where it was sampled.
    Raises ``HarnessError`` when the disk refuses.
    """
    figures: dict[str, Figure] = {}
    for comparison in comparisons:
        figures[comparison.scenario] = bars.draw(comparison)
        if tradeoff.has_data(comparison):
            figures[f"{comparison.scenario}-tradeoff"] = tradeoff.draw(comparison)
        if timelines.get(comparison.scenario):
            labels = [row.label for row in comparison.rows]
            figures[f"{comparison.scenario}-timeline"] = timeline.draw(
                comparison.scenario, comparison.topology, labels, timelines[comparison.scenario]
            )
    if len(comparisons) > 1:
        figures[OVERVIEW_NAME] = bars.draw_overview(comparisons)
    return [save(figure, folder, name, form) for name, figure in figures.items() for form in formats]


def save(figure: Figure, folder: Path, name: str, file_format: str) -> Path:
    """Writes one chart. Raises ``HarnessError`` when the disk refuses."""
    path = folder / f"{name}.{file_format}"
    partial = path.with_name(f".{path.name}.part")
    try:
        # No date in the file: the same figures give the same bytes.
        figure.savefig(
            partial, format=file_format, dpi=150, metadata={"Date": None} if file_format == "svg" else {"Software": None}
        )
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise HarnessError(f"{path} cannot be written: {error.strerror}.") from error
    return path
