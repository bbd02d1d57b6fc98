"""Comparisons -> charts, as PNG or SVG files. Needs no display. One module a kind of picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.text import Text

from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import plane, scan, times
from waitbench.reporting.drawing import looks
from waitbench.system.files import write_with
from waitbench.system.streams import printable

OVERVIEW_NAME = "overview"


def draw_all(
    comparisons: Sequence[Comparison],
    folder: Path,
    formats: Sequence[str],
    scanned: Sequence[Scanned] = (),
    engines: Mapping[str, str] | None = None,
) -> list[Path]:
    """Writes every chart there is data for, in every format. Returns the files.

    ``<scenario>``: what its runs cost; ``overview``: the cost that is judged, in all scenarios;
    ``<scenario>-tradeoff``: CPU against latency, where items are due over time;
    ``<scenario>-<parameter>-scan``: cost against the number that was scanned.
    ``engines`` of the revisions, by label: where there are several, each has one colour.
    Raises ``HarnessError`` when the disk refuses.
    """
    figures: dict[str, Figure] = {}
    for comparison in comparisons:
        scenario = comparison.scenario
        labels = [row.label for row in comparison.rows]
        look_of = looks(labels, engines)
        figures[scenario] = times.draw(comparison, look_of)
        if plane.has_data(comparison):
            figures[f"{scenario}-tradeoff"] = plane.draw(comparison, look_of)
    for one in filter(scan.has_data, scanned):
        figures[f"{one.scenario}-{one.parameter}{scan.NAME_SUFFIX}"] = scan.draw(one)
    if len(comparisons) > 1:
        figures[OVERVIEW_NAME] = times.draw_overview(comparisons, look_of)
    return [
        save(figure, folder, name, form) for name, figure in figures.items() for form in formats
    ]


def save(figure: Figure, folder: Path, name: str, file_format: str) -> Path:
    """Writes one chart. Raises ``HarnessError`` when the disk refuses."""
    _make_printable(figure)
    path = folder / f"{name}.{file_format}"
    # No date in the file: the same figures give the same bytes.
    metadata = {"Date": None} if file_format == "svg" else {"Software": None}
    write_with(
        path,
        lambda partial: figure.savefig(partial, format=file_format, dpi=150, metadata=metadata),
    )
    return path


def _make_printable(figure: Figure) -> None:
    """Replaces control characters: SVG has no way to write them, and a warning would print them."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # Made anew from what the axis knows whenever it is drawn.
            ticks = [label.get_text() for label in axis.get_ticklabels()]
            shown = list(map(printable, ticks))
            if shown != ticks:
                axis.set_ticklabels(shown)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(printable(text.get_text()))
