"""Comparisons and trends -> Vega-Lite specifications with their data.

Specifications are constant but for their kind, so that a page of many charts holds each once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waitbench.analysis.history import Trend
from waitbench.analysis.statistics import Comparison
from waitbench.analysis.trend import TrendStep
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.run import Measurement, ThreadSample
from waitbench.reporting.comparison import SPLIT
from waitbench.reporting.document import Chart
from waitbench.reporting.drawing import COLOURS, are_far_apart, worth_a_row
from waitbench.reporting.formats import format_ratio
from waitbench.reporting.history import newest_of

Rows = list[dict[str, Any]]

SHOWN = ("steady", "cpu", "system", "user", "real", "wakeups", "syscalls", "latency")
"""What the dots may show, the first that there is before all else."""
_LATENESS, _SHARE = "latency", "share"
_HEIGHT = 240
_BAR_HEIGHT = 28
_ROW_HEIGHT = 16
"""Pixels."""
_SHADES = ("rgba(0, 114, 178, 0.06)", "rgba(0, 114, 178, 1)")
"""On any ground."""


def _names(field: str, **more: Any) -> dict[str, Any]:
    """A channel that shows names."""
    return {"field": field, "type": "nominal", **more}


def _amounts(field: str, **more: Any) -> dict[str, Any]:
    """A channel that shows amounts."""
    return {"field": field, "type": "quantitative", **more}


def _tips(names: Iterable[str]) -> list[dict[str, str]]:
    """What is shown of whatever the pointer is on."""
    return [{"field": name} for name in names]


_REVISION = _names("revision", sort=None, title=None)
_COLOUR = _names("revision", sort=None, scale={"range": list(COLOURS)}, legend=None)
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
    rows: Rows = [_row(run, metrics) for label in record.context.labels for run in record.of(label)]
    titles = {metric.name: _titled(metric) for metric in metrics}
    shown = {name: title for name, title in titles.items() if name in SHOWN}
    if not rows or not shown:
        return ()
    found = [_dots(comparison, rows, shown)]
    if comparison.waits and {_LATENESS, _SHARE} <= titles.keys():
        found.append(_plane(comparison, rows, titles))
    return tuple(found)


def _dots(comparison: Comparison, rows: Rows, titles: Mapping[str, str]) -> Chart:
    names, labels = list(titles), list(titles.values())
    choice = {"input": "select", "options": names, "labels": labels, "name": "Show "}
    spec = {
        "params": [{"name": "metric", "value": names[0], "bind": choice}],
        "transform": [
            {"fold": names, "as": ["metric", "value"]},
            {"filter": "datum.metric == metric && isValid(datum.value)"},
        ],
        "height": _HEIGHT,
        "mark": _DOT,
        "encoding": {
            "x": {**_REVISION, "axis": {"labelAngle": 0, "labelLimit": 160}},
            "xOffset": {"field": "round", "type": "ordinal"},
            "y": _axis("value", None, _known(rows, names[0]) if _all_above_0(rows, names) else ()),
            "color": _COLOUR,
            "shape": _names("marks", legend=None),
            "tooltip": _tips([*_RUN_TIP, "value"]),
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
        "height": _HEIGHT,
        "mark": _DOT,
        "encoding": {
            "x": _axis(_LATENESS, titles[_LATENESS], _known(rows, _LATENESS)),
            "y": _axis(_SHARE, titles[_SHARE], _known(rows, _SHARE)),
            "color": {**_COLOUR, "legend": {"title": None, "orient": "bottom", "labelLimit": 160}},
            "tooltip": _tips([*_RUN_TIP, _LATENESS, _SHARE]),
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
        {"revision": row.label, "part": part, "seconds": _rounded(max(value, 0.0))}
        for row in comparison.rows
        for name, part in SPLIT.items()
        if name in row.estimates
        for value in [row.estimates[name].value]
    ]
    if not rows:
        return None
    names = list(SPLIT.values())
    spec = {
        "height": _BAR_HEIGHT * len({row["revision"] for row in rows}),
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {**_REVISION, "axis": {"labelLimit": 160}},
            "x": _amounts("seconds", title="CPU seconds of a run"),
            "color": _names(
                "part",
                scale={"domain": names, "range": list(COLOURS[: len(names)])},
                legend={"title": None, "orient": "bottom", "columns": 3},
            ),
            "order": _amounts("place"),
            "tooltip": _tips(("revision", "part", "seconds")),
        },
        "transform": [{"calculate": f"indexof({names!r}, datum.part)", "as": "place"}],
    }
    return Chart(
        title="Where the CPU went",
        description=f"CPU seconds of {comparison.scenario} by part of a run and revision.",
        spec=spec,
        rows=rows,
    )


def timeline(comparison: Comparison, samples: Sequence[ThreadSample]) -> Chart | None:
    """The CPU share of each thread over time, as far as it was sampled."""
    rows = []
    for label in (row.label for row in comparison.rows):
        for name, points in worth_a_row(label, samples).items():
            before = 0.0
            for time_s, share in points:
                times = {"from": round(before, 3), "to": round(time_s, 3)}
                rows.append({"thread": f"{label} · {name}", **times, "share": round(share, 3)})
                before = time_s
    if not rows:
        return None
    spec = {
        "height": _ROW_HEIGHT * len({row["thread"] for row in rows}),
        "mark": {"type": "rect"},
        "encoding": {
            "y": _names("thread", sort=None, title=None, axis={"labelLimit": 220}),
            "x": _amounts("from", title="seconds since the run began"),
            "x2": {"field": "to"},
            "color": _amounts(
                "share",
                scale={"domain": [0, 1], "range": list(_SHADES)},
                legend={"title": "share of a CPU", "orient": "bottom"},
            ),
            "tooltip": _tips(("thread", "from", "to", "share")),
        },
    }
    return Chart(
        wide=True,
        title="Threads over time",
        description=f"The share of a CPU that each thread of {comparison.scenario} used over time.",
        spec=spec,
        rows=rows,
    )


def trend(found: Trend, metric: Metric, newest: int = 0) -> Chart:
    """Each revision's cost relative to the anchor, with its interval; steps are marked.

    See ``newest_of``.
    """
    steps = {step.after: step for step in found.steps}
    rows: Rows = [
        {
            "revision": place.entry.name,
            "date": (place.entry.date or "")[:10],
            "ratio": _rounded(place.ratio.value),
            "low": _rounded(place.ratio.low or place.ratio.value),
            "high": _rounded(place.ratio.high or place.ratio.value),
            "sittings": place.ratio.count,
            "machines": place.machines,
            "step": step_text(steps.get(place.entry.name)),
        }
        for place in newest_of(found, newest)
    ]
    revision = {**_REVISION, "axis": {"labelAngle": -45, "labelLimit": 120}}
    far = are_far_apart([row["ratio"] for row in rows])
    scale = {"type": "log"} if far else {"zero": False}
    spec = {
        "height": _HEIGHT,
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
                "encoding": {"y": _amounts("low"), "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": COLOURS[0]},
                "encoding": {
                    "y": _amounts("ratio", title=f"relative to {found.anchor}", scale=scale),
                    "tooltip": _tips(rows[0]),
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


def step_text(step: TrendStep | None) -> str:
    """A step's ratio, and whether it is certain; empty where there is none."""
    if step is None:
        return ""
    provisional = " provisional" if step.provisional else ""
    return f"{format_ratio(step.ratio)}{provisional}"


def _row(run: Measurement, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "revision": run.label,
        "round": run.round,
        "position": run.position + 1,
        "marks": ", ".join(run.marks) or "none",
        **{metric.name: _value(run, metric) for metric in metrics},
    }


def _value(run: Measurement, metric: Metric) -> float | None:
    if metric.key not in run.metrics:
        return None
    factor = 1000 if metric.name == "latency" else 2**-20 if metric.unit == "byte" else 1
    return _rounded(run.metrics[metric.key] * factor)


def _known(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _all_above_0(rows: Rows, names: Sequence[str]) -> bool:
    """Whether a logarithmic scale could show whatever is chosen."""
    return all(value > 0 for name in names for value in _known(rows, name))


def _axis(field: str, title: str | None, values: Sequence[float]) -> dict[str, Any]:
    found = _amounts(field, title=title)
    if not are_far_apart(values):
        return found
    # Its grid would be denser than what is drawn on it.
    return {**found, "scale": {"type": "log"}, "axis": {"grid": False, "tickCount": 5}}


def _titled(metric: Metric) -> str:
    unit = {"second": "s", "byte": "MiB"}.get(metric.unit, metric.unit)
    if metric.name == "latency":
        unit = "ms"
    return f"{metric.title}, {unit}" if unit != "count" else metric.title


def _rounded(value: float) -> float:
    """Four digits: more is noise, and would be most of the page."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return float(f"{value:.4g}")
