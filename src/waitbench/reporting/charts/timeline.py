"""CPU share of every thread over time: spinning is a block, parking is a line."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.model.run import ThreadSample
from waitbench.reporting.charts import style
from waitbench.reporting.drawing import Points, worth_a_row
from waitbench.reporting.shortening import shorten_apart

_MOST_COLUMNS = 3
_MOST_CHARACTERS = 40
"""Of a label over a panel."""
_ROW_INCHES = 0.42
_FEWEST_ROWS = 3


def draw(
    scenario: str, topology: str, labels: Sequence[str], samples: Sequence[ThreadSample]
) -> Figure:
    """One panel for each sampled revision; in it one row a thread, 0 to 100 % of a CPU high."""
    sampled = {sample.label for sample in samples}
    panels = [
        (number, label, worth_a_row(label, samples))
        for number, label in enumerate(labels)
        if label in sampled
    ]
    columns = min(len(panels), _MOST_COLUMNS)
    lines = -(-len(panels) // columns)
    rows = max(_FEWEST_ROWS, *(len(threads) for _, _, threads in panels))
    figure = Figure(
        figsize=(5.2 * columns + 1.2, 0.6 + (1 + _ROW_INCHES * rows) * lines), layout="constrained"
    )
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True)
    end = max(sample.time_s for sample in samples)
    shown = shorten_apart(labels, _MOST_CHARACTERS)
    for axes, (number, label, threads) in zip(grid.flat, panels, strict=False):
        _draw_threads(axes, threads, style.colour(number))
        axes.set_xlim(0, end)
        axes.set_xlabel("seconds since the run began")
        axes.tick_params(labelbottom=True)
        axes.set_title(_heading(label, shown[number], len(threads), samples), fontsize=10)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    style.title(figure, None, f"{scenario} · {topology} · share of one CPU, by thread", "")
    return figure


def _draw_threads(axes: Axes, threads: dict[str, Points], colour: str) -> None:
    bases = list(range(len(threads) - 1, -1, -1))
    for base, points in zip(bases, threads.values(), strict=True):
        times = [time_s for time_s, _ in points]
        tops = [base + 0.92 * share for _, share in points]
        axes.fill_between(times, base, tops, step="pre", color=colour, linewidth=0.6)
        axes.axhline(base, color="#BBBBBB", linewidth=0.5)
    axes.set_yticks([base + 0.4 for base in bases], list(threads), fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.05, max(len(threads), 1))
    axes.spines[["top", "right", "left"]].set_visible(False)


def _heading(label: str, name: str, shown: int, samples: Sequence[ThreadSample]) -> str:
    """What the label is shown as, and how many threads have no row."""
    hidden = len({(s.process, s.thread) for s in samples if s.label == label}) - shown
    if not hidden:
        return name
    return f"{name} (quiet threads not shown: {hidden})"
