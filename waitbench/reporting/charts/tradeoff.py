"""CPU against latency: what a revision that waits more cheaply pays for it, at one glance."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from waitbench.analysis.statistics import Comparison
from waitbench.reporting.charts import style

X, Y = "latency", "share"


def has_data(comparison: Comparison) -> bool:
    """Whether items were due over time and some revision reported how late they were."""
    return comparison.waits and any(X in row.estimates and Y in row.estimates for row in comparison.rows)


def draw(comparison: Comparison) -> Figure:
    """One point a revision: lateness at p99 to the right, CPU per waiting second upwards; both are better when smaller."""
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    values_x, values_y = [], []
    for number, row in enumerate(comparison.rows):
        x, y = row.estimates.get(X), row.estimates.get(Y)
        if x is None or y is None:
            continue
        values_x.append(x.value * 1000)
        values_y.append(y.value)
        axes.errorbar(
            x.value * 1000, y.value, xerr=style.error(x, 1000), yerr=style.error(y), fmt="o", markersize=8,
            color=style.colour(number), ecolor="#333333", elinewidth=1, capsize=2.5, label=row.label,
        )  # fmt: skip
    # Logarithmic where the points are far apart, so that those at the low end can be told apart too.
    for name, values in (("x", values_x), ("y", values_y)):
        if min(values) > 0 and max(values) / min(values) > 5:
            axes.set(**{f"{name}scale": "log", f"{name}lim": (min(values) / 2, max(values) * 2)})
            axis = axes.xaxis if name == "x" else axes.yaxis
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        else:
            axes.set(**{f"{name}lim": (0, max(values) * 1.3 or 1)})
    axes.set_xlabel("lateness of items at p99, milliseconds")
    axes.set_ylabel("CPU seconds per second of waiting, all workers")
    style.title(figure, axes, comparison.scenario, f"{comparison.topology} · lower left is better · 95 % intervals")
    style.tidy(axes)
    figure.legend(loc="outside lower center", ncols=min(len(comparison.rows), 4), frameon=False)
    return figure
