"""The cost of waiting against a number: what each revision costs, and the line through that."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.analysis.scan import Scanned
from waitbench.analysis.statistics import CONFIDENCE
from waitbench.reporting.drawing import COLOURS, shorten
from waitbench.reporting.scan import heading, title
from waitbench.system.streams import printable

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
_EXPLANATION = f"means · bars: {CONFIDENCE * 100:.0f} % · line: C + N·R, where it fits"


def draw(scanned: Scanned) -> Figure | None:
    """A curve of each revision; ``None`` where no run says what waiting costs.

    Below it, where something wakes the workers up, how late they answer.
    """
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
    if not ends[0]:
        return None
    # Before they are measured: matplotlib would warn of what it cannot draw.
    figure.suptitle(printable(title(scanned)), fontsize=13, fontweight="bold")
    axes.set_title(_EXPLANATION, fontsize=9, color="#555555")
    axes.set(xlabel=printable(heading(scanned.parameter)), ylabel="steady CPU, % of a core")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for name, values_of in zip("xy", ends, strict=True):
        _scale(axes, name, min(values_of), max(values_of))
    handles, labels = axes.get_legend_handles_labels()
    columns = min(len(labels), 3)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    _add_lateness(figure, axes, scanned)
    return figure


def _add_lateness(figure: Figure, axes: Axes, scanned: Scanned) -> None:
    """Draws how late workers answer below what they cost, if anything wakes them up."""
    curves = [(place, one.lateness) for place, one in enumerate(scanned.curves) if one.lateness]
    if not curves:
        return
    figure.set_size_inches(8, 8)
    grid = figure.add_gridspec(2, 1)
    axes.set_subplotspec(grid[0])
    late = figure.add_subplot(grid[1], sharex=axes, xlabel=axes.get_xlabel())
    ends: list[float] = []
    for place, lateness in curves:
        colour, marker = _look(place)
        bounds = [(one.low or one.value, one.high or one.value) for one in lateness.values()]
        means = [one.value * 1000 for one in lateness.values()]
        reach = abs(np.transpose(bounds) * 1000 - means)
        ends.extend(bound * 1000 for both in bounds for bound in both)
        late.errorbar([*lateness], means, reach, fmt=f"{marker}:", color=colour, linewidth=0.8)
    _scale(late, "y", max(min(ends), 1e-3), max(*ends, 1e-3))
    late.set_ylabel("median lateness, ms")
    late.spines[["top", "right"]].set_visible(False)
    late.grid(alpha=0.25)
    axes.set_xlabel("")
    axes.tick_params(labelbottom=False)


def _look(place: int) -> tuple[str, str]:
    """The colour of a revision, and its marker."""
    return COLOURS[place % len(COLOURS)], _MARKERS[place // len(COLOURS) % len(_MARKERS)]


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


def _label(text: str) -> str:
    """matplotlib leaves names out of a legend that begin with an underscore."""
    return printable(shorten(text, _MOST_CHARACTERS)).replace("_", "\N{ZERO WIDTH SPACE}_", 1)
