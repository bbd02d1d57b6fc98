"""Family ``paged-output``: the published tables, remade; and what the buffer holds, sheds and costs."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from waitbench.families.paged_output.paging import Measured, from_plain
from waitbench.reporting.charts import style
from waitbench.reporting.family_table import FamilyTable
from waitbench.store.results import Contents

CHART = "paged-output"


def tables(contents: Contents) -> list[FamilyTable]:
    """Of ``runner.py paged-output``. A worker's runs have the tables that all scenarios have."""
    return _tables(from_plain(contents.paging["rows"]), contents.paging["idle_share"]) if contents.paging else []


def figures(contents: Contents) -> Mapping[str, Figure]:
    """The same as a picture."""
    return _figures(from_plain(contents.paging["rows"])) if contents.paging else {}


def _tables(measured: Sequence[Measured], idle_share: float) -> list[FamilyTable]:
    """One table a device, as published; one of load shedding; one of memory and CPU."""
    made: list[FamilyTable] = []
    for device in ("noop", "passthrough"):
        ours = [one for one in measured if one.row.device == device and one.row.published_dropped is None]
        if ours:
            rows = tuple(
                (
                    f"{one.row.total_bytes:,}{_page(one)}", f"{one.regular_s * 1e6:,.0f}", f"{one.paged_s * 1e6:,.0f}",
                    f"{one.speedup:.2f}", f"{one.row.published_speedup:.2f}",
                )
                for one in ours
            )  # fmt: skip
            made.append(
                FamilyTable(
                    f"paged-output · {device}", ("total bytes", "regular (µs)", "paged (µs)", "speed-up", "published"), rows
                )
            )
    shedding = [one for one in measured if one.row.published_dropped is not None]
    if shedding:
        shed = tuple(
            (
                f"{one.row.buffer:,}", f"{one.speedup:.2f}", f"{one.dropped:,}", f"{one.dropped / one.row.messages:.2%}",
                f"{one.row.published_dropped:.2%}",
            )
            for one in shedding
        )  # fmt: skip
        header: tuple[str, ...] = ("buffer (entries)", "speed-up", "dropped", "share", "published")
        made.append(FamilyTable("paged-output · load shedding, 100,000 × 100 bytes into passthrough", header, shed))
    if measured:
        costs = tuple(
            (
                _name(one), f"{one.bytes_held_peak / 1024:,.0f}", f"{one.bytes_allowed / 1024:,.0f}",
                f"{one.regular_cpu_s / one.row.messages * 1e6:.2f}", f"{one.paged_cpu_s / one.row.messages * 1e6:.2f}",
                f"{one.paged_cpu_s / one.regular_cpu_s:.2f}",
            )
            for one in measured
        )  # fmt: skip
        header = ("", "held", "allowed", "regular", "paged", "ratio")
        notes = ["Held: KiB in the paged writer, at most. Regular, paged: CPU of the worker's process, µs a message."]
        notes.append(f"An idle paged writer uses {idle_share:.4%} of a core.")
        made.append(FamilyTable("paged-output · memory and CPU", header, costs, tuple(notes)))
    return made


def _figures(measured: Sequence[Measured]) -> Mapping[str, Figure]:
    """``paged-output``: time and CPU of a message, regular and paged, for each row."""
    if not measured:
        return {}
    figure = Figure(figsize=(11, 0.55 * len(measured) + 1.8), layout="constrained")
    times, cpus = figure.subplots(1, 2, sharey=True)
    for axes, values, title in (
        (times, [(one.regular_s, one.paged_s) for one in measured], "time of a message"),
        (cpus, [(one.regular_cpu_s, one.paged_cpu_s) for one in measured], "CPU of a message, worker's process"),
    ):
        for place, (one, (regular, paged)) in enumerate(zip(measured, values, strict=True)):
            for offset, seconds, number in ((-0.2, regular, 0), (0.2, paged, 1)):
                each_us = seconds / one.row.messages * 1e6
                label = ("regular", "paged")[number] if place == 0 and axes is times else None
                bar = axes.barh(place + offset, each_us, 0.38, color=style.colour(number), label=label)
                axes.bar_label(bar, fmt=f"{each_us:.2g}", fontsize=7, padding=2)
        axes.set(xscale="log", xlabel="microseconds")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
        axes.set_title(title, fontsize=10)
        axes.margins(x=0.12, y=0.02)
        style.tidy(axes)
        axes.grid(visible=False, axis="y")
    times.set_yticks(range(len(measured)), [_name(one) for one in measured], fontsize=8)
    times.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    style.title(figure, None, "Messages one by one, and in pages", "")
    return {CHART: figure}


def _name(one: Measured) -> str:
    buffer = "" if one.row.buffer == 40_000 else f", buffer {one.row.buffer:,}"
    return f"{one.row.device}, {one.row.messages:,} × {one.row.message_bytes}{_page(one)}{buffer}"


def _page(one: Measured) -> str:
    return "" if one.row.page_size == 4096 else f", page {one.row.page_size}"
