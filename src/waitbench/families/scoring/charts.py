"""How late, how many, at what cost: one row of panels for each revision."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from waitbench.families.scoring.tables import TransportCalls, by_revision
from waitbench.model.record import Record
from waitbench.reporting.charts import style

_LIMIT_COLOUR = "#A00000"
_MODEL_COLOUR = "#BBBBBB"


def figures(records: Sequence[Record]) -> Mapping[str, Figure]:
    """``scoring``: how long calls take, how many lines they get, what they cost."""
    revisions = by_revision(records)
    if not revisions:
        return {}
    figure = Figure(figsize=(10, 3.8 * len(revisions) + 0.6), layout="constrained")
    grid = figure.subplots(len(revisions), 3, squeeze=False)
    for (late, many, cost), (label, calls) in zip(grid, revisions, strict=True):
        _draw_late(late, calls)
        _draw_many(many, calls)
        _draw_cost(cost, calls)
        late.set_title(f"{label}: how long a call takes", fontsize=10)
        many.set_title(f"{label}: how many lines it gets", fontsize=10)
        cost.set_title(f"{label}: what it costs", fontsize=10)
    style.legend_of(figure, grid[0][0])
    style.title(figure, None, "Asking a model within a limit", "")
    return {"scoring": figure}


def _draw_late(axes: Axes, calls: Sequence[TransportCalls]) -> None:
    """Share of calls that take longer than x: a tail is what a mean hides."""
    for number, each in enumerate(calls):
        taken_ms = sorted(taken_s * 1000 for taken_s in each.values("taken_s"))
        longer = [1 - place / len(taken_ms) for place in range(len(taken_ms))]
        axes.step(
            taken_ms,
            longer,
            where="post",
            color=style.colour(number),
            label=each.transport,
            linewidth=1.8,
        )
    limit_ms = max(each.limit_ms for each in calls)
    axes.axvline(limit_ms, color=_LIMIT_COLOUR, linestyle=":", linewidth=1)
    axes.annotate(
        "limit",
        (limit_ms, 1),
        xytext=(3, -4),
        textcoords="offset points",
        fontsize=8,
        color=_LIMIT_COLOUR,
        va="top",
    )
    axes.set(yscale="log", xlabel="milliseconds", ylabel="share of calls that take longer")
    style.write_plainly(axes.yaxis)
    style.tidy(axes)


def _draw_many(axes: Axes, calls: Sequence[TransportCalls]) -> None:
    """Share of calls that get at most x lines."""
    for number, each in enumerate(calls):
        lines = sorted(each.values("lines"))
        shares = [place / len(lines) for place in range(1, len(lines) + 1)]
        axes.step(lines, shares, where="post", color=style.colour(number), linewidth=1.8)
    axes.set(xlabel="lines", ylabel="share of calls that get at most so many", ylim=(0, 1))
    axes.set_xlim(left=0)
    style.tidy(axes)


def _draw_cost(axes: Axes, calls: Sequence[TransportCalls]) -> None:
    """CPU per call, stacked: the worker's in the transport's colour, the model's in grey."""
    for number, each in enumerate(calls):
        bottom_ms = 0.0
        for key, colour, hatch in (
            ("call_user", style.colour(number), ""),
            ("call_system", style.colour(number), "//"),
            ("call_model_user", _MODEL_COLOUR, ""),
            ("call_model_system", _MODEL_COLOUR, "//"),
        ):
            height_ms = each.mean_of_runs(key) * 1000
            axes.bar(
                number,
                height_ms,
                bottom=bottom_ms,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                width=0.7,
            )
            bottom_ms += height_ms
    names = [each.transport for each in calls]
    axes.set_xticks(range(len(calls)), names, fontsize=8, rotation=25, ha="right")
    axes.set_ylabel("CPU milliseconds per call")
    axes.set_xlabel(
        "coloured: worker, grey: model,\nhatched: system time", fontsize=8, color=style.GREY
    )
    style.tidy(axes)
