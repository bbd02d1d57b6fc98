"""Time and CPU of a message, regular and paged, for each row of the published tables."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.families.paged_output.paging import SIDES, Paging
from waitbench.families.paged_output.tables import name_of
from waitbench.reporting.charts import style

NAME = "paged-output"


def figures(paging: Paging | None) -> Mapping[str, Figure]:
    """``paged-output``: a pair of bars for each row; none without rows."""
    if paging is None or not paging.measured:
        return {}
    measured = paging.measured
    figure = Figure(figsize=(10, 0.55 * len(measured) + 1.8), layout="constrained")
    times, cpus = figure.subplots(1, 2, sharey=True)
    messages = [each.row.messages for each in measured]
    _draw(times, messages, [(each.regular_s, each.paged_s) for each in measured])
    _draw(cpus, messages, [(each.regular_cpu_s, each.paged_cpu_s) for each in measured])
    times.set_title("time of a message", fontsize=10)
    cpus.set_title("CPU of a message, worker's process", fontsize=10)
    times.set_yticks(range(len(measured)), [name_of(each) for each in measured], fontsize=8)
    times.invert_yaxis()
    style.legend_of(figure, times)
    style.title(figure, None, "Messages one by one, and in pages", "")
    return {NAME: figure}


def _draw(axes: Axes, messages: Sequence[int], seconds: Sequence[tuple[float, float]]) -> None:
    """Bars of both sides of each row: ``seconds`` of all its messages, by message."""
    for number, side in enumerate(SIDES):
        each_us = [
            pair[number] / count * 1e6 for pair, count in zip(seconds, messages, strict=True)
        ]
        places = [place + (number - 0.5) * 0.4 for place in range(len(seconds))]
        bars = axes.barh(places, each_us, 0.38, color=style.colour(number), label=side)
        axes.bar_label(bars, [_short(value) for value in each_us], fontsize=8, padding=2)
    axes.set(xscale="log", xlabel="microseconds")
    style.write_plainly(axes.xaxis)
    axes.margins(x=0.12, y=0.02)
    style.tidy(axes)
    axes.grid(visible=False, axis="y")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
