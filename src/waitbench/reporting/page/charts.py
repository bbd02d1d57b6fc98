"""Comparisons -> Vega-Lite specifications with their data.

Specifications are constant but for their kind, so that a page of many charts holds each once.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.reporting.page.parts import Chart
from waitbench.reporting.palette import COLOURS
from waitbench.reporting.tables import SPLIT

Rows = list[dict[str, Any]]

SHOWN = ("steady", "cpu", "system", "user", "real", "wakeups", "syscalls", "latency")
"""What the dots may show, the first that there is before all else."""
_LATENESS, _SHARE = "latency", "share"
_FAR_APART = 5
"""From this factor on a scale is logarithmic, so that what is small can be told apart too."""
HEIGHT = 240
_BAR_HEIGHT = 28
"""Pixels."""

REVISION = {"field": "revision", "type": "nominal", "sort": None, "title": None}
_COLOUR = {
    "field": "revision",
    "type": "nominal",
    "sort": None,
    "scale": {"range": list(COLOURS)},
    "legend": None,
}
_DOT = {"type": "point", "filled": True, "size": 50, "opacity": 0.75}
_RUN_TIP = ("revision", "round", "position", "marks")


def runs(comparison: Comparison, record: Record) -> tuple[Chart, ...]:
    """Every run as a dot, its cost chosen below the chart; and CPU against lateness, if items wait.

    Both are of the same rows, which a page keeps once.
    """
    known = {m.name: m for m in comparison.metrics}
    metrics = [
        known[name]
        for name in (*SHOWN, _SHARE)
        if name in known and any(known[name].key in run.metrics for run in record.measurements)
    ]
    rows: Rows = [
        {**_run(run), **{metric.name: _value(run, metric) for metric in metrics}}
        for label in record.context.labels
        for run in record.of(label)
    ]
    titles = {metric.name: _titled(metric) for metric in metrics}
    shown = {name: title for name, title in titles.items() if name in SHOWN}
    if not rows or not shown:
        return ()
    found = [_dots(comparison, rows, shown)]
    if comparison.waits and {_LATENESS, _SHARE} <= titles.keys():
        found.append(_plane(comparison, rows, titles))
    return tuple(found)


def _dots(comparison: Comparison, rows: Rows, titles: Mapping[str, str]) -> Chart:
    names = list(titles)
    spec = {
        "params": [
            {
                "name": "metric",
                "value": names[0],
                "bind": {
                    "input": "select",
                    "options": names,
                    "labels": list(titles.values()),
                    "name": "Show ",
                },
            }
        ],
        "transform": [
            {"fold": names, "as": ["metric", "value"]},
            {"filter": "datum.metric == metric && isValid(datum.value)"},
        ],
        "height": HEIGHT,
        "mark": _DOT,
        "encoding": {
            "x": {**REVISION, "axis": {"labelAngle": 0, "labelLimit": 160}},
            "xOffset": {"field": "round", "type": "ordinal"},
            "y": _axis("value", None, _known(rows, names[0]) if _all_above_0(rows, names) else ()),
            "color": _COLOUR,
            "shape": {"field": "marks", "type": "nominal", "legend": None},
            "tooltip": [*({"field": name} for name in _RUN_TIP), {"field": "value"}],
        },
    }
    return Chart(
        title="Every run",
        description=f"Every run of {comparison.scenario} as a dot, by revision.",
        spec=spec,
        rows=rows,
    )


def _plane(comparison: Comparison, rows: Rows, titles: Mapping[str, str]) -> Chart:
    spec = {
        "transform": [{"filter": f"isValid(datum.{name})"} for name in (_LATENESS, _SHARE)],
        "height": HEIGHT,
        "mark": _DOT,
        "encoding": {
            "x": _axis(_LATENESS, titles[_LATENESS], _known(rows, _LATENESS)),
            "y": _axis(_SHARE, titles[_SHARE], _known(rows, _SHARE)),
            "color": {**_COLOUR, "legend": {"title": None, "orient": "bottom", "labelLimit": 160}},
            "tooltip": [{"field": name} for name in (*_RUN_TIP, _LATENESS, _SHARE)],
        },
    }
    return Chart(
        title="CPU against lateness: lower left is better",
        description=f"CPU per waiting second against lateness, of each run of "
        f"{comparison.scenario}.",
        spec=spec,
        rows=rows,
    )


def parts(comparison: Comparison) -> Chart | None:
    """Where the CPU went: the mean of each part of each revision."""
    rows = [
        {
            "revision": row.label,
            "part": SPLIT[name],
            "seconds": rounded(max(row.estimates[name].value, 0.0)),
        }
        for row in comparison.rows
        for name in SPLIT
        if name in row.estimates
    ]
    if not rows:
        return None
    names = list(SPLIT.values())
    spec = {
        "height": _BAR_HEIGHT * len({row["revision"] for row in rows}),
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {**REVISION, "axis": {"labelLimit": 160}},
            "x": {"field": "seconds", "type": "quantitative", "title": "CPU seconds of a run"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": names, "range": list(COLOURS[: len(names)])},
                "legend": {"title": None, "orient": "bottom", "columns": 3},
            },
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [{"field": name} for name in ("revision", "part", "seconds")],
        },
        "transform": [{"calculate": f"indexof({names!r}, datum.part)", "as": "place"}],
    }
    return Chart(
        title="Where the CPU went",
        description=f"CPU seconds of {comparison.scenario} by part of a run and revision.",
        spec=spec,
        rows=rows,
    )


def _run(run: Measurement) -> dict[str, Any]:
    return {
        "revision": run.label,
        "round": run.round,
        "position": run.position + 1,
        "marks": ", ".join(run.marks) or "none",
    }


def _value(run: Measurement, metric: Metric) -> float | None:
    if metric.key not in run.metrics:
        return None
    return rounded(run.metrics[metric.key] * _factor(metric))


def _known(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _all_above_0(rows: Rows, names: Sequence[str]) -> bool:
    """Whether a logarithmic scale could show whatever is chosen."""
    return all(value > 0 for name in names for value in _known(rows, name))


def _axis(field: str, title: str | None, values: Sequence[float]) -> dict[str, Any]:
    found = {"field": field, "type": "quantitative", "title": title}
    if not are_far_apart(values):
        return found
    # Its grid would be denser than what is drawn on it.
    return {**found, "scale": {"type": "log"}, "axis": {"grid": False, "tickCount": 5}}


def are_far_apart(values: Sequence[float]) -> bool:
    """Whether only a logarithmic scale tells all of them apart."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > _FAR_APART


def _titled(metric: Metric) -> str:
    unit = {"second": "s", "byte": "MiB"}.get(metric.unit, metric.unit)
    if metric.name == "latency":
        unit = "ms"
    return f"{metric.title}, {unit}" if unit != "count" else metric.title


def _factor(metric: Metric) -> float:
    return 1000 if metric.name == "latency" else 2**-20 if metric.unit == "byte" else 1


def rounded(value: float) -> float:
    """Four digits: more is noise, and would be most of the page."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return float(f"{value:.4g}")
