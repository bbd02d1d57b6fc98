"""Family ``scoring``: how long a call takes, and how many lines it gets, by transport."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from waitbench.reporting.charts import style
from waitbench.reporting.family_table import FamilyTable
from waitbench.store.results import Contents, Record

_PREFIX = "scoring-"
_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99)
_CPU = {
    "worker, user": "call_user",
    "worker, system": "call_system",
    "model, user": "call_model_user",
    "model, system": "call_model_system",
}
_OF_THE_SEED = {"inprocess": 239.461 / 1033.7, "nonblocking-spin": 911.89 / 1033.7}
"""Lines per call relative to a blocking pipe, as published by subwabbit ("Throughput vs. latency", its documentation)."""


def tables(contents: Contents) -> list[FamilyTable]:
    """For each revision: time taken, lines per call, CPU per call."""
    made = []
    for label, calls, records_of in _by_revision(contents.records):
        transports = tuple(calls)
        limits = sorted({f"{float(record.parameters['timeout_ms']):g}" for record in records_of.values()})
        counts = ", ".join(f"{len(frame):,}" for frame in calls.values())
        made.append(
            FamilyTable(
                f"scoring · {label} · time taken by a call, ms (limit {' and '.join(limits)} ms)",
                ("", *transports),
                _described([frame["taken_s"] * 1000 for frame in calls.values()], "{:.3f}"),
                (f"Calls: {counts}.",),
            )
        )
        empty = [f"{name}: {(frame['lines'] == 0).sum()}" for name, frame in calls.items() if (frame["lines"] == 0).any()]
        made.append(
            FamilyTable(
                f"scoring · {label} · lines per call",
                ("", *transports),
                (*_described([frame["lines"] for frame in calls.values()], "{:,.0f}"), *_relative(calls)),
                ("Calls without a line: " + (", ".join(empty) or "none") + ".",),
            )
        )
        rows = [
            (name, *(f"{_mean(record, label, key) * 1000:.3f}" for record in records_of.values()))
            for name, key in _CPU.items()
        ]
        made.append(FamilyTable(f"scoring · {label} · CPU time of a call, ms", ("", *transports), tuple(rows)))
    return made


def figures(contents: Contents) -> Mapping[str, Figure]:
    """``scoring``: one row of panels for each revision: how late, how many, at what cost."""
    revisions = _by_revision(contents.records)
    if not revisions:
        return {}
    figure = Figure(figsize=(13, 4.3 * len(revisions) + 0.6), layout="constrained")
    grid = figure.subplots(len(revisions), 3, squeeze=False)
    for (late, many, cost), (label, calls, records_of) in zip(grid, revisions, strict=True):
        limit = max(float(record.parameters["timeout_ms"]) for record in records_of.values())
        _draw_late(late, calls, limit)
        _draw_many(many, calls)
        _draw_cost(cost, label, records_of)
        late.set_title(f"{label}: how long a call takes", fontsize=10)
        many.set_title(f"{label}: how many lines it gets", fontsize=10)
        cost.set_title(f"{label}: what it costs", fontsize=10)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    style.title(figure, None, "Asking a model within a limit", "")
    return {"scoring": figure}


def _by_revision(
    records: Sequence[Record],
) -> list[tuple[str, Mapping[str, pd.DataFrame], Mapping[str, Record]]]:
    """Label, and the calls and the record of each transport that it has runs of."""
    ours = {record.scenario.removeprefix(_PREFIX): record for record in records if record.scenario.startswith(_PREFIX)}
    labels = next(iter(ours.values())).context.labels if ours else ()
    found: list[tuple[str, Mapping[str, pd.DataFrame], Mapping[str, Record]]] = []
    for label in labels:
        calls = {
            transport: pd.DataFrame([sample for run in record.of(label) for sample in run.samples])
            for transport, record in ours.items()
            if any(run.samples for run in record.of(label))
        }
        if calls:
            found.append((label, calls, {transport: ours[transport] for transport in calls}))
    return found


def _described(columns: Sequence["pd.Series[float]"], form: str) -> tuple[tuple[str, ...], ...]:
    """The rows of the published tables: mean, min, quantiles, max."""
    rows: list[tuple[str, list[float]]] = [
        ("mean", [column.mean() for column in columns]),
        ("min", [column.min() for column in columns]),
        *((f"{q:.0%}", [float(column.quantile(q)) for column in columns]) for q in _QUANTILES),
        ("max", [column.max() for column in columns]),
    ]
    return tuple((name, *(form.format(value) for value in values)) for name, values in rows)


def _relative(calls: Mapping[str, pd.DataFrame]) -> tuple[tuple[str, ...], ...]:
    """Mean lines relative to a blocking pipe: here, and as published."""
    if "blocking" not in calls:
        return ()
    base = calls["blocking"]["lines"].mean()
    here = tuple(f"{frame['lines'].mean() / base:.3f}" for frame in calls.values())
    published = tuple("1" if name == "blocking" else _published(name) for name in calls)
    return (("mean / blocking", *here), ("… as published", *published))


def _published(transport: str) -> str:
    return f"{_OF_THE_SEED[transport]:.3f}" if transport in _OF_THE_SEED else "–"


def _mean(record: Record, label: str, key: str) -> float:
    runs = [run.metrics[key] for run in record.of(label) if key in run.metrics]
    return sum(runs) / len(runs) if runs else 0.0


def _draw_late(axes: Axes, calls: Mapping[str, pd.DataFrame], limit_ms: float) -> None:
    """Share of calls that take longer than x: a tail is what a mean hides."""
    for number, (transport, frame) in enumerate(calls.items()):
        taken = np.sort(frame["taken_s"].to_numpy() * 1000)
        longer = 1 - np.arange(len(taken)) / len(taken)
        axes.step(taken, longer, where="post", color=style.colour(number), label=transport, linewidth=1.8)
    axes.axvline(limit_ms, color="#A00000", linestyle=":", linewidth=1)
    axes.annotate("limit", (limit_ms, 1), xytext=(3, -4), textcoords="offset points", fontsize=8, color="#A00000", va="top")
    axes.set(yscale="log", xlabel="milliseconds", ylabel="share of calls that take longer")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _place: f"{share:.4g}"))
    style.tidy(axes)


def _draw_many(axes: Axes, calls: Mapping[str, pd.DataFrame]) -> None:
    """Share of calls that get at most x lines."""
    for number, frame in enumerate(calls.values()):
        lines = np.sort(frame["lines"].to_numpy())
        axes.step(lines, np.arange(1, len(lines) + 1) / len(lines), where="post", color=style.colour(number), linewidth=1.8)
    axes.set(xlabel="lines", ylabel="share of calls that get at most so many", ylim=(0, 1))
    axes.set_xlim(left=0)
    style.tidy(axes)


def _draw_cost(axes: Axes, label: str, records: Mapping[str, Record]) -> None:
    """CPU per call, stacked: the worker's in the transport's colour, the model's in grey."""
    for number, record in enumerate(records.values()):
        bottom = 0.0
        for key, colour, hatch in (
            ("call_user", style.colour(number), ""),
            ("call_system", style.colour(number), "//"),
            ("call_model_user", "#BBBBBB", ""),
            ("call_model_system", "#BBBBBB", "//"),
        ):
            height = _mean(record, label, key) * 1000
            axes.bar(number, height, bottom=bottom, color=colour, hatch=hatch, edgecolor="white", linewidth=0.5, width=0.7)
            bottom += height
    axes.set_xticks(range(len(records)), [name.replace("-", "-\n") for name in records], fontsize=8)
    axes.set_ylabel("CPU milliseconds per call")
    axes.set_xlabel("coloured: worker, grey: model, hatched: system time", fontsize=8, color="#555555")
    style.tidy(axes)
