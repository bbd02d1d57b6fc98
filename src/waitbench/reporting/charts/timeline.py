"""CPU share of every thread over time: spinning is a block, parking is a line."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.model.run import ThreadSample
from waitbench.reporting.charts import style
from waitbench.reporting.charts.times import Looks
from waitbench.reporting.drawing import Points, worth_a_row
from waitbench.reporting.shortening import shorten_apart

_MOST_CHARACTERS = 60
"""Of a label over a panel."""
_ROW_INCHES = 0.3
_PANEL_INCHES = 0.35


def draw(
    scenario: str,
    topology: str,
    labels: Sequence[str],
    samples: Sequence[ThreadSample],
    looks: Looks,
) -> Figure:
    """A panel for each sampled revision, one below the other, all of the same seconds.

    In it one row a thread, 0 to 100 % of a CPU high.
    """
    sampled = {sample.label for sample in samples}
    panels = [
        (label, name, worth_a_row(label, samples))
        for label, name in zip(labels, shorten_apart(labels, _MOST_CHARACTERS), strict=True)
        if label in sampled
    ]
    heights = [max(1, len(threads)) * _ROW_INCHES + _PANEL_INCHES for _, _, threads in panels]
    figure = Figure(figsize=(style.WIDTH, sum(heights) + 0.9), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=heights)
    for (axes,), (label, name, threads) in zip(grid, panels, strict=True):
        _draw_threads(axes, threads, looks[label].colour)
        heading = _heading(label, name, len(threads), samples)
        axes.set_title(heading, fontsize=10, fontweight="bold", loc="left")
    last = grid[-1][0]
    last.set_xlim(0, max(sample.time_s for sample in samples))
    last.set_xlabel(f"seconds since the run began · {topology}", fontsize=9)
    last.tick_params(labelsize=style.SMALL)
    style.title(figure, None, f"{scenario}: share of one CPU, by thread", "")
    return figure


def _draw_threads(axes: Axes, threads: dict[str, Points], colour: str) -> None:
    bases = list(range(len(threads) - 1, -1, -1))
    for base, points in zip(bases, threads.values(), strict=True):
        times = [time_s for time_s, _ in points]
        tops = [base + 0.92 * share for _, share in points]
        axes.fill_between(times, base, tops, step="pre", color=colour, linewidth=0.6)
        axes.axhline(base, color="#BBBBBB", linewidth=0.5)
    axes.set_yticks([base + 0.4 for base in bases], list(threads), fontsize=style.SMALL)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.05, max(len(threads), 1))
    axes.spines[["top", "right", "left"]].set_visible(False)


def _heading(label: str, name: str, shown: int, samples: Sequence[ThreadSample]) -> str:
    """What the label is shown as, and how many threads have no row."""
    hidden = len({(s.process, s.thread) for s in samples if s.label == label}) - shown
    if not hidden:
        return name
    return f"{name} (quiet threads not shown: {hidden})"
