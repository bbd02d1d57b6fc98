"""CPU share of every thread over time: spinning is a block, parking is a line."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from waitbench.execution.timeline import Sample
from waitbench.reporting.charts import style

_QUIET = 0.02
"""Threads that never use more than this share are left out; their number is said."""
_MOST_ROWS = 24


def draw(scenario: str, topology: str, labels: Sequence[str], samples: Sequence[Sample]) -> Figure:
    """One panel a revision; in it one row a thread, 0 to 100 % of a CPU high."""
    panels = [(number, label, _threads(label, samples)) for number, label in enumerate(labels)]
    panels = [panel for panel in panels if panel[2]]
    rows = max(len(threads) for _, _, threads in panels)
    figure = Figure(figsize=(5.2 * len(panels) + 1.2, 1.6 + 0.42 * max(rows, 3)), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharex=True)
    end = max(sample.time_s for sample in samples)
    for axes, (number, label, threads) in zip(grid.flat, panels, strict=True):
        for place, points in enumerate(threads.values()):
            base = len(threads) - 1 - place
            times, shares = [time_s for time_s, _ in points], [base + 0.92 * share for _, share in points]
            axes.fill_between(times, base, shares, step="pre", color=style.colour(number), linewidth=0.6)
            axes.axhline(base, color="#BBBBBB", linewidth=0.5)
        axes.set_yticks([len(threads) - 1 - place + 0.4 for place in range(len(threads))], list(threads), fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, end)
        axes.set_ylim(-0.05, len(threads))
        axes.set_xlabel("seconds since the run began")
        quiet = len({(s.process, s.thread) for s in samples if s.label == label}) - len(threads)
        axes.set_title(label + (f" ({quiet} quiet threads not shown)" if quiet else ""), fontsize=10)
        axes.spines[["top", "right", "left"]].set_visible(False)
    style.title(figure, None, f"{scenario} · {topology} · share of one CPU, by thread", "")
    return figure


def _threads(label: str, samples: Sequence[Sample]) -> dict[str, list[tuple[float, float]]]:
    """Points of each thread worth a row, in order of process and thread."""
    points: dict[str, list[tuple[float, float]]] = {}
    for sample in samples:
        if sample.label == label:
            points.setdefault(f"{sample.process} · {sample.thread}", []).append((sample.time_s, sample.share))
    loud = {name: series for name, series in points.items() if max(share for _, share in series) > _QUIET}
    busiest = sorted(loud, key=lambda name: -sum(share for _, share in loud[name]))[:_MOST_ROWS]
    return {name: loud[name] for name in sorted(busiest)}
