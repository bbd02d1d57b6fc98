"""The threads of a run over time: spinning is a block, parking is a line."""

from collections.abc import Sequence

from waitbench.analysis.statistics import Comparison
from waitbench.model.run import ThreadSample
from waitbench.reporting.page.parts import Chart
from waitbench.reporting.threads import worth_a_row

_ROW_HEIGHT = 16
"""Pixels."""
_SHADES = ("rgba(0, 114, 178, 0.06)", "rgba(0, 114, 178, 1)")
"""On any ground."""


def chart(comparison: Comparison, samples: Sequence[ThreadSample]) -> Chart | None:
    """The CPU share of each thread over time, as far as it was sampled."""
    rows = []
    for label in (row.label for row in comparison.rows):
        for name, points in worth_a_row(label, samples).items():
            before = 0.0
            for time_s, share in points:
                rows.append(
                    {
                        "thread": f"{label} · {name}",
                        "from": round(before, 3),
                        "to": round(time_s, 3),
                        "share": round(share, 3),
                    }
                )
                before = time_s
    if not rows:
        return None
    spec = {
        "height": _ROW_HEIGHT * len({row["thread"] for row in rows}),
        "mark": {"type": "rect"},
        "encoding": {
            "y": {
                "field": "thread",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 220},
            },
            "x": {"field": "from", "type": "quantitative", "title": "seconds since the run began"},
            "x2": {"field": "to"},
            "color": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 1], "range": list(_SHADES)},
                "legend": {"title": "share of a CPU", "orient": "bottom"},
            },
            "tooltip": [{"field": name} for name in ("thread", "from", "to", "share")],
        },
    }
    return Chart(
        wide=True,
        title="Threads over time",
        description=f"The share of a CPU that each thread of {comparison.scenario} used over time.",
        spec=spec,
        rows=rows,
    )
