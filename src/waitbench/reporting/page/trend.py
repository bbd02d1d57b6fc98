"""A trend -> its chart and its table."""

from waitbench.analysis.history import Trend
from waitbench.analysis.trend import TrendStep
from waitbench.model.metrics import Metric
from waitbench.reporting.page.charts import HEIGHT, REVISION, Rows, are_far_apart, rounded
from waitbench.reporting.page.figures import ratio_cell
from waitbench.reporting.page.parts import Cell, Chart, Heading, Table
from waitbench.reporting.palette import COLOURS
from waitbench.reporting.tables import format_interval
from waitbench.reporting.trends import newest_of, notes

_HEADER = ("revision", "date", "ratio", "sittings", "machines", "step")


def table(found: Trend, metric: Metric, newest: int = 0) -> Table:
    """The revisions in order of history, and a sentence for each step; see ``newest_of``."""
    steps = {step.after: step for step in found.steps}
    return Table(
        title=f"{metric.heading}, relative to {found.anchor}",
        header=tuple(map(Heading, _HEADER)),
        rows=tuple(
            (
                Cell(text=place.entry.name, sort=number),
                Cell(text=(place.entry.date or "")[:10]),
                ratio_cell(place.ratio),
                Cell(text=str(place.ratio.count), sort=place.ratio.count),
                Cell(text=str(place.machines), sort=place.machines),
                Cell(text=_step_text(steps.get(place.entry.name))),
            )
            for number, place in enumerate(newest_of(found, newest))
        ),
        notes=tuple(notes(found, metric)),
    )


def chart(found: Trend, metric: Metric, newest: int = 0) -> Chart:
    """Each revision's cost relative to the anchor, with its interval; steps are marked.

    See ``newest_of``.
    """
    steps = {step.after: step for step in found.steps}
    rows: Rows = [
        {
            "revision": place.entry.name,
            "date": (place.entry.date or "")[:10],
            "ratio": rounded(place.ratio.value),
            "low": rounded(_or(place.ratio.low, place.ratio.value)),
            "high": rounded(_or(place.ratio.high, place.ratio.value)),
            "sittings": place.ratio.count,
            "machines": place.machines,
            "step": _step_text(steps.get(place.entry.name)),
        }
        for place in newest_of(found, newest)
    ]
    revision = {**REVISION, "axis": {"labelAngle": -45, "labelLimit": 120}}
    far = are_far_apart([row["ratio"] for row in rows])
    scale = {"type": "log"} if far else {"zero": False}
    spec = {
        "height": HEIGHT,
        "encoding": {"x": revision},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.5, "aria": False},
                "encoding": {"y": {"datum": 1}, "x": None},
            },
            {
                # Not filtered: revisions that come first in any layer would stand first.
                "mark": {"type": "rule", "strokeWidth": 14, "aria": False},
                "encoding": {
                    "opacity": {"condition": {"test": "datum.step", "value": 0.15}, "value": 0}
                },
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2, "color": COLOURS[0], "aria": False},
                "encoding": {
                    "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": COLOURS[0]},
                "encoding": {
                    "y": {
                        "field": "ratio",
                        "type": "quantitative",
                        "title": f"relative to {found.anchor}",
                        "scale": scale,
                    },
                    "tooltip": [{"field": name} for name in rows[0]],
                },
            },
        ],
    }
    return Chart(
        title=f"{metric.heading}, relative to {found.anchor}; steps are shaded",
        description=f"{metric.heading} of each revision relative to {found.anchor}.",
        spec=spec,
        rows=rows,
    )


def _step_text(step: TrendStep | None) -> str:
    if step is None:
        return ""
    provisional = " provisional" if step.provisional else ""
    return f"× {step.ratio.value:.3g} {format_interval(step.ratio)}{provisional}"


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
