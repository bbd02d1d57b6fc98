"""A load of many clients: how many answers, how long they take, what they cost."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.families.embedding.kept import ModeFigures, Modes
from waitbench.reporting.charts import style

NAME = "embedding-load"
_SHARES = {"50%": 0.5, "90%": 0.1, "99%": 0.01, "max": 0.0}
"""The share of requests that take longer than each percentile."""


def figures(modes: Modes) -> Mapping[str, Figure]:
    """``embedding-load``: requests per second, latencies, CPU per request; none without a load.

    A worker's runs have the charts that all scenarios have.
    """
    if not modes:
        return {}
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    many, late, cost = figure.subplots(1, 3)
    _draw_many(many, modes)
    _draw_late(late, modes)
    _draw_cost(cost, modes)
    style.legend_of(figure, late)
    style.title(
        figure, None, "Many clients of an embedding service, with and without a batching proxy", ""
    )
    return {NAME: figure}


def _draw_many(axes: Axes, modes: Modes) -> None:
    for number, mode in enumerate(modes.values()):
        bar = axes.bar(number, mode.requests_per_s, color=style.colour(number), width=0.7)
        axes.bar_label(bar, fmt="{:,.0f}", fontsize=9)
    _name_bars(axes, modes)
    axes.set_ylabel("requests per second")
    axes.set_title("how many answers", fontsize=10)


def _draw_late(axes: Axes, modes: Modes) -> None:
    for number, (name, mode) in enumerate(modes.items()):
        milliseconds, longer = _distribution(mode)
        # The later, the thinner: where modes are alike, those below still show.
        width = max(1.4, 5 - 1.2 * number)
        axes.plot(milliseconds, longer, color=style.colour(number), label=name, linewidth=width)
    axes.set(
        xscale="log",
        xlabel="milliseconds",
        ylabel="share of requests that take longer",
        ylim=(0, 1),
    )
    style.write_plainly(axes.xaxis)
    axes.set_title("how long they take", fontsize=10)
    style.tidy(axes)


def _draw_cost(axes: Axes, modes: Modes) -> None:
    for number, mode in enumerate(modes.values()):
        embedder_ms, proxy_ms = (
            mode.cpu_s.get(service, 0.0) / mode.answered * 1000 if mode.answered else 0.0
            for service in ("embedder", "proxy")
        )
        colour = style.colour(number)
        axes.bar(number, embedder_ms, color=colour, width=0.7)
        axes.bar(
            number,
            proxy_ms,
            bottom=embedder_ms,
            color=colour,
            hatch="//",
            edgecolor="white",
            width=0.7,
        )
    _name_bars(axes, modes)
    axes.set_ylabel("CPU milliseconds per request")
    axes.set_xlabel("plain: embedder, hatched: proxy", fontsize=8, color=style.GREY)
    axes.set_title("what they cost", fontsize=10)


def _distribution(mode: ModeFigures) -> tuple[list[float], list[float]]:
    """Milliseconds, and the share of requests that take longer.

    By percentiles where the client gives no more.
    """
    times_ms = [latency_s * 1000 for latency_s in mode.latencies_s]
    if times_ms:
        return times_ms, [1 - place / len(times_ms) for place in range(len(times_ms))]
    known = {key: share for key, share in _SHARES.items() if key in mode.percentiles_s}
    return [mode.percentiles_s[key] * 1000 for key in known], list(known.values())


def _name_bars(axes: Axes, modes: Modes) -> None:
    axes.set_xticks(range(len(modes)), list(modes), fontsize=8, rotation=25, ha="right")
    style.tidy(axes)
    axes.grid(visible=False, axis="x")
