"""Tables and comparisons -> charts, as PNG or SVG files. Needs no display."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from waitbench.analysis.results import by_urgency
from waitbench.analysis.scan import Scanned
from waitbench.reporting import scan
from waitbench.reporting.answer import Findings, costs, gate_table
from waitbench.reporting.charts import bars, forest
from waitbench.reporting.document import Bars
from waitbench.reporting.drawing import colours_of
from waitbench.system.files import write_with

matplotlib.use("Agg")
# Labels are data: a dollar sign in one is not mathematics.
matplotlib.rcParams.update(
    {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"}
)


def draw_all(
    found: Findings,
    costs_of_runs: Bars,
    folder: Path,
    formats: Sequence[str],
    scanned: Sequence[Scanned] = (),
) -> list[Path]:
    """Writes every chart there is data for, in every format. Returns the files.

    ``costs``: the costs of every revision, from zero; ``overview``: what is judged in each
    scenario, relative to the baseline; ``gate``: what a gate asked;
    ``<scenario>-<parameter>-scan``: cost against the number that was scanned.
    Raises ``HarnessError`` when the disk refuses.
    """
    figures: dict[str, Figure] = {}
    colours = colours_of(found.labels)
    if costs_of_runs.headings:
        figures["costs"] = bars.draw(costs_of_runs)
    if any(one.ratio is not None for one in found.main):
        figures["overview"] = forest.draw(costs(found, found.main, found.title, colours))
    if found.judgements:
        title = f"The gate: {found.notes[0].text.partition(':')[0].lower()}"
        asked = by_urgency(found.judgements)
        figures["gate"] = forest.draw(gate_table(found, asked, title, colours))
    for one in (one for one in scanned if any(curve.costs for curve in one.curves)):
        (table,) = scan.tables([one])
        figures[f"{one.scenario}-{one.parameter}-scan"] = forest.draw(table)
    return [
        save(figure, folder, name, form) for name, figure in figures.items() for form in formats
    ]


def save(figure: Figure, folder: Path, name: str, file_format: str) -> Path:
    """Writes one chart. Raises ``HarnessError`` when the disk refuses."""
    path = folder / f"{name}.{file_format}"
    # No date in the file: the same figures give the same bytes.
    metadata = {"Date": None} if file_format == "svg" else {"Software": None}
    write_with(
        path,
        lambda partial: figure.savefig(partial, format=file_format, dpi=150, metadata=metadata),
    )
    return path
