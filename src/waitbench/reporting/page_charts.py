"""Comparisons and trends -> Vega-Lite specifications with their data.

Specifications are constant but for their kind, so that a page of many charts holds each once. What
is chosen in a chart stands in it for a placeholder, such as ``$title``: see ``Choice``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from waitbench.analysis.history import Place, Trend
from waitbench.analysis.statistics import Comparison
from waitbench.model.metrics import Metric
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.reporting.comparison import SPLIT
from waitbench.reporting.document import Chart, Choice
from waitbench.reporting.drawing import COLOURS, are_far_apart, fences, looks
from waitbench.reporting.formats import format_change, rounded
from waitbench.reporting.history import newest_of, step_text

Rows = list[dict[str, Any]]

SHOWN = ("steady", "cpu", "system", "user", "real", "wakeups", "syscalls", "latency")
"""What the dots may show, the first that there is before all else."""
_LATENESS, _SHARE = "latency", "share"
_HEIGHT = 240
_BAR_HEIGHT = 28
"""Pixels."""
_SHAPES = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right",
)  # fmt: skip
_FIGURES = "datum.value >= 1000 || datum.value <= -1000 ? format(datum.value, '~s') : datum.label"
"""20k at a scale; and not 500m for a half."""


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
_COLOUR = _names("revision", sort=None, scale="$colours", legend=None)
_DOT = {"type": "point", "filled": True, "size": 50, "opacity": 0.75}
_RUN_TIP = ("revision", "round", "position", "marks")
_LOG = {"type": "log"}
_LINEAR = {"type": "linear", "zero": True}


def runs(comparison: Comparison, record: Record) -> tuple[Chart, ...]:
    """Every run as a dot, its cost chosen above the chart; and CPU against lateness, if items wait.

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
    look = _looks(record)
    found = [_dots(comparison, rows, shown, look)]
    if comparison.waits and {_LATENESS, _SHARE} <= titles.keys():
        found.append(_plane(comparison, rows, titles, look))
    return tuple(found)


def _looks(record: Record) -> dict[str, Any]:
    """The colours and shapes of a chart: one colour an engine, where there are several."""
    engines = {one.label: one.engine or "" for one in record.context.revisions}
    found = looks(record.context.labels, engines)
    if len(set(engines.values())) < 2:
        return {"$colours": {"range": list(COLOURS)}, "$shapes": {"range": [_SHAPES[0]]}}
    shapes = [_SHAPES[look.turn % len(_SHAPES)] for look in found.values()]
    return {
        "$colours": {"domain": list(found), "range": [look.colour for look in found.values()]},
        "$shapes": {"domain": list(found), "range": shapes},
    }


def _dots(
    comparison: Comparison, rows: Rows, titles: Mapping[str, str], look: Mapping[str, Any]
) -> Chart:
    # The page itself makes the data called "middles" of what is chosen, so as not to hold it.
    spec = {
        "params": [{"name": "metric", "value": "$metric"}],
        "height": _HEIGHT,
        "encoding": {
            "x": {**_REVISION, "axis": {"labelAngle": "$angle", "labelLimit": 160}},
            "xOffset": {
                "field": "round",
                "type": "ordinal",
                "scale": {"type": "band", "padding": 0},
            },
            "color": _COLOUR,
        },
        "layer": [
            {
                "data": {"name": "middles"},
                "mark": {"type": "bar", "opacity": 0.2, "width": {"band": 1}, "aria": False},
                "encoding": {"y": _axis("low"), "y2": {"field": "high"}},
            },
            {
                "data": {"name": "middles"},
                "mark": {"type": "tick", "thickness": 3, "width": {"band": 1}},
                "encoding": {
                    "y": _axis("median"),
                    "tooltip": _tips(("revision", "median", "low", "high", "band")),
                },
            },
            {
                "transform": [
                    {"calculate": "datum[metric]", "as": "value"},
                    {"filter": "isValid(datum.value)"},
                ],
                "mark": _DOT,
                "encoding": {
                    "y": _axis("value"),
                    "shape": _names("marks", legend=None),
                    "tooltip": _tips([*_RUN_TIP, "value"]),
                },
            },
        ],
    }
    labels = dict.fromkeys(row["revision"] for row in rows)
    angle = 0 if len(labels) <= _MOST_UPRIGHT else -45
    choices = tuple(
        Choice(
            title=title,
            fills={
                **look,
                "$metric": name,
                "$title": title,
                "$scale": _scale(_known(rows, name)),
                "$angle": angle,
            },
        )
        for name, title in titles.items()
    )
    return Chart(
        title="Every run, with medians",
        description=f"Every run of {comparison.scenario} as a dot, by revision, with the median "
        "and its interval.",
        spec=spec,
        rows=rows,
        choices=choices,
    )


_MOST_UPRIGHT = 5


def _plane(
    comparison: Comparison, rows: Rows, titles: Mapping[str, str], look: Mapping[str, Any]
) -> Chart:
    spec = {
        "transform": [{"filter": f"isValid(datum.{name})"} for name in (_LATENESS, _SHARE)],
        "height": _HEIGHT,
        "mark": _DOT,
        "encoding": {
            "x": _axis(_LATENESS, titles[_LATENESS], "$across"),
            "y": _axis(_SHARE, titles[_SHARE], "$up"),
            "color": {**_COLOUR, "legend": _LEGEND},
            "shape": _names("revision", sort=None, scale="$shapes", legend=_LEGEND),
            "tooltip": _tips([*_RUN_TIP, _LATENESS, _SHARE]),
        },
    }
    fills = {
        **look,
        "$across": _scale(_known(rows, _LATENESS)),
        "$up": _scale(_known(rows, _SHARE)),
    }
    return Chart(
        title="CPU against lateness: lower left is better",
        description=f"CPU per waiting second against lateness, of each run of "
        f"{comparison.scenario}.",
        spec=spec,
        rows=rows,
        choices=(Choice(title="", fills=fills),),
    )


_LEGEND = {"title": None, "orient": "bottom", "labelLimit": 220, "columns": 2}


def parts(comparison: Comparison) -> Chart | None:
    """Where the CPU went: the mean of each part of each revision."""
    rows = [
        {"revision": row.label, "part": part, "seconds": rounded(max(value, 0.0))}
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


def trend(found: Trend, metric: Metric, newest: int = 0) -> Chart:
    """Each revision's cost relative to the anchor, with its interval; steps are marked.

    What is far out stands at the edge, with its ratio, so that it does not flatten all the others;
    unless all is chosen. See ``newest_of``.
    """
    shown = newest_of(found, newest)
    steps = {step.after: step for step in found.change_points}
    low, high = fences([place.ratio.value for place in shown])
    beyond = [place for place in shown if not low <= place.ratio.value <= high]
    rows: Rows = [
        {
            "revision": place.entry.name,
            "date": (place.entry.date or "")[:10],
            "ratio": rounded(place.ratio.value),
            "low": rounded(place.ratio.low or place.ratio.value),
            "high": rounded(place.ratio.high or place.ratio.value),
            "sessions": place.ratio.count,
            "step": step_text(steps.get(place.entry.name)),
            "beyond": _beyond(place) if place in beyond else "",
        }
        for place in shown
    ]
    revision = {**_REVISION, "axis": {"labelAngle": -45, "labelLimit": 120}}
    told = [name for name in rows[0] if name != "beyond"]
    ratio = _axis("ratio", f"relative to {found.anchor}", "$scale")
    spec = {
        "height": _HEIGHT,
        "encoding": {"x": revision},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.7, "aria": False},
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
                "mark": {
                    "type": "rule", "strokeWidth": 2, "color": COLOURS[0], "aria": False,
                    "clip": True,
                },
                "encoding": {"y": _amounts("low", scale="$scale"), "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": COLOURS[0]},
                "encoding": {"y": ratio, "tooltip": _tips(told)},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 7, "aria": False},
                "encoding": {"y": ratio, "text": {"field": "beyond"}},
            },
        ],
    }  # fmt: skip
    inside = [place.ratio.value for place in shown if place not in beyond]
    every = Choice(title="all", fills={"$scale": {"type": "log", "nice": False}})
    choices: tuple[Choice, ...] = (every,)
    if beyond and inside:
        domain = [rounded(min(*inside, 1.0) / _MARGIN), rounded(max(*inside, 1.0) * _MARGIN)]
        clamped = {"type": "log", "domain": domain, "clamp": True, "nice": False}
        choices = (Choice(title="without outliers", fills={"$scale": clamped}), every)
    return Chart(
        title=f"{metric.heading}, relative to {found.anchor}; change points are shaded",
        description=f"{metric.heading} of each revision relative to {found.anchor}.",
        spec=spec,
        rows=rows,
        choices=choices,
    )


_MARGIN = 1.3
"""Between what is no outlier and the edge."""


def _beyond(place: Place) -> str:
    return f"{'▲' if place.ratio.value > 1 else '▼'} {format_change(place.ratio)}"


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
    return rounded(run.metrics[metric.key] * factor)


def _known(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if row[name] is not None]


def _scale(values: Sequence[float]) -> dict[str, Any]:
    """Of an axis that tells all of these apart."""
    return _LOG if are_far_apart(values) else _LINEAR


def _axis(field: str, title: str = "$title", scale: str = "$scale") -> dict[str, Any]:
    """An axis whose figures are short, whatever they are; on a log scale a few are enough."""
    axis = {"labelExpr": _FIGURES, "tickCount": 5}
    return _amounts(field, title=title, scale=scale, axis=axis)


def _titled(metric: Metric) -> str:
    unit = {"second": "s", "byte": "MiB"}.get(metric.unit, metric.unit)
    if metric.name == "latency":
        unit = "ms"
    return f"{metric.title}, {unit}" if unit != "count" else metric.title
