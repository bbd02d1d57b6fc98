"""Charts of tables and comparisons, as PNG or SVG files. Needs no display."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from waitbench.analysis.results import by_urgency
from waitbench.reporting import scan
from waitbench.reporting.answer import Findings, costs, gate_table
from waitbench.reporting.bars import compose
from waitbench.reporting.charts import bars, forest
from waitbench.system.files import write_with

matplotlib.use("Agg")
# A dollar sign in a label is not mathematics.
matplotlib.rcParams.update(
    {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "charts"}
)


def draw_all(findings: Findings, formats: Sequence[str]) -> list[Path]:
    """Writes every chart there is data for, in every format. Returns the files.

    ``costs``: bars from zero; ``overview``: the judged ratios of each scenario to the baseline;
    ``gate``: its questions; ``<scenario>-<parameter>-scan``: cost against the scanned number.
    Raises ``HarnessError`` when the disk refuses.
    """
    figures: dict[str, Figure] = {}
    costs_of_runs = compose(findings.comparisons, findings.basis)
    if costs_of_runs.headings:
        figures["costs"] = bars.draw(costs_of_runs)
    if any(result.ratio is not None for result in findings.main):
        figures["overview"] = forest.draw(costs(findings, findings.main, findings.title))
    if findings.judgements:
        title = f"The gate: {findings.notes[0].text.partition(':')[0].lower()}"
        judgements = by_urgency(findings.judgements)
        figures["gate"] = forest.draw(gate_table(findings, judgements, title))
    for each in findings.scanned:
        if any(curve.costs for curve in each.curves):
            (table,) = scan.tables([each])
            figures[f"{each.scenario}-{each.parameter}-scan"] = forest.draw(table)
    return [
        save(figure, findings.folder, name, form)
        for name, figure in figures.items()
        for form in formats
    ]


def save(figure: Figure, folder: Path, name: str, form: str) -> Path:
    """Writes one chart. Raises ``HarnessError`` when the disk refuses."""
    path = folder / f"{name}.{form}"
    # No date in the file: the same figures give the same bytes.
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    write_with(path, lambda part: figure.savefig(part, format=form, dpi=150, metadata=metadata))
    return path
