"""A cost against a number, or against another cost: where each revision is, with its interval."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.analysis.results import MetricResult
from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import CONFIDENCE, Estimate
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.drawing import COLOURS, shorten
from waitbench.reporting.scan import title
from waitbench.system.streams import printable

_X, _Y = "latency", "share"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""What tells revisions of one colour apart."""
_MOST_CHARACTERS = 28
"""Of a name in the legend."""
_FAR_APART = 5
"""From this factor on a scale is logarithmic, so that what is small can be told apart too."""
_VERY_FAR = 1e3
"""From this factor on, only the powers of ten are written at a scale."""
_STEPS = 60
"""Points of a drawn line."""


def tradeoff(name: str, results: Iterable[MetricResult], labels: Sequence[str]) -> Figure | None:
    """CPU against the lateness of items; ``None`` of a scenario without items due over time."""
    found: dict[str, dict[str, Estimate | None]] = {label: {} for label in labels}
    for one in results:
        if one.waits and not one.is_point and one.metric.name in (_X, _Y):
            found[labels[0]].setdefault(one.metric.name, one.before)
            found[one.revision][one.metric.name] = one.after
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axes = figure.subplots()
    ends: tuple[list[float], list[float]] = ([], [])
    for place, (label, of) in enumerate(found.items()):
        late, cost, (colour, marker) = of.get(_X), of.get(_Y), _look(place)
        if late is not None and cost is not None:
            axes.errorbar(
                late.value * 1000, cost.value, xerr=_arms(late, 1000), yerr=_arms(cost, 1),
                fmt=marker, markersize=8, color=colour, elinewidth=1.2,
                capsize=2.5, label=_label(label),
            )  # fmt: skip
            ends[0].extend(end * 1000 for end in (late.value, late.low, late.high) if end)
            ends[1].extend(end for end in (cost.value, cost.low, cost.high) if end)
    explanation = f"lower left is better · mean with its {CONFIDENCE * 100:.0f} % interval"
    named = (f"{BY_NAME[_X].title}, ms", f"{BY_NAME[_Y].title}, cores")
    return _finished(figure, (name, explanation), named, ends) if ends[0] else None


def scan(scanned: Scanned) -> Figure | None:
    """The cost of waiting against a number; ``None`` where no run says what waiting costs."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    ends: tuple[list[float], list[float]] = ([], [])
    for place, curve in enumerate(scanned.curves):
        means = {value: cost for value, cost in curve.costs.items() if cost.value > 0}
        if not means:
            continue
        colour, marker = _look(place)
        shown = [cost.value * 100 for cost in means.values()]
        # One run has no interval.
        bounds = [(cost.low or cost.value, cost.high or cost.value) for cost in means.values()]
        ends[0].extend(means)
        ends[1].extend(bound * 100 for both in bounds for bound in both)
        reach = abs(np.transpose(bounds) * 100 - shown)
        axes.errorbar(
            [*means], shown, reach, fmt=marker, markersize=6, elinewidth=1, color=colour,
            label=_label(curve.label),
        )  # fmt: skip
        if curve.constant is None or curve.slope is None:
            axes.plot([*means], shown, ":", color=colour, linewidth=0.8)
            continue
        values = np.geomspace(min(means), max(means), _STEPS)
        costs = curve.constant.value + curve.slope.value * values
        axes.plot(values[costs > 0], costs[costs > 0] * 100, color=colour, linewidth=1.2)
    explanation = f"means · bars: {CONFIDENCE * 100:.0f} % · line: C + N·R, where it fits"
    named = (scanned.parameter, "steady CPU, % of a core")
    return _finished(figure, (title(scanned), explanation), named, ends) if ends[0] else None


def _finished(
    figure: Figure, titles: tuple[str, str], named: tuple[str, str], ends: Sequence[list[float]]
) -> Figure:
    """With a heading and what is shown, named scales that hold all ends, and a legend below."""
    (axes,) = figure.axes
    # Before they are measured: matplotlib would warn of what it cannot draw.
    figure.suptitle(printable(titles[0]), fontsize=13, fontweight="bold")
    axes.set_title(titles[1], fontsize=9, color="#555555")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for name, text, values in zip("xy", named, ends, strict=True):
        axes.set(**{f"{name}label": printable(text)})
        _scale(axes, name, min(values), max(values))
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 3)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _scale(axes: Axes, name: str, least: float, most: float) -> None:
    """Limits of an axis: logarithmic if they are far apart, with plain figures."""
    if most / least <= _FAR_APART:
        axes.set(**{f"{name}lim": (0, most * 1.15)})
        return
    axes.set(**{f"{name}scale": "log", f"{name}lim": (least / 1.5, most * 1.5)})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if most / least < _VERY_FAR else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _look(place: int) -> tuple[str, str]:
    """The colour of a revision, and its marker."""
    return COLOURS[place % len(COLOURS)], _MARKERS[place // len(COLOURS) % len(_MARKERS)]


def _label(text: str) -> str:
    """matplotlib leaves names out of a legend that begin with an underscore."""
    return printable(shorten(text, _MOST_CHARACTERS)).replace("_", "\N{ZERO WIDTH SPACE}_", 1)


def _arms(found: Estimate, factor: float) -> list[list[float]] | None:
    """Distances below and above, in matplotlib's shape."""
    if found.low is None or found.high is None:
        return None
    return [[(found.value - found.low) * factor], [(found.high - found.value) * factor]]
