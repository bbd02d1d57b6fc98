"""The published tables, remade; and what the buffer holds, sheds and costs."""

from collections.abc import Sequence

from waitbench.families.paged_output.paging import BUFFER, PAGE_SIZE, Measured, Paging
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING


def tables(paging: Paging | None) -> list[Table]:
    """One table a device, as published; one of load shedding; one of memory and CPU.

    A worker's runs have the tables that all scenarios have.
    """
    if paging is None:
        return []
    compared = [each for each in paging.measured if not each.row.sheds]
    shedding = [each for each in paging.measured if each.row.sheds]
    devices = dict.fromkeys(each.row.device for each in compared)
    made = [
        _speed_ups(device, [each for each in compared if each.row.device == device])
        for device in devices
    ]
    if shedding:
        made.append(_load_shedding(shedding))
    if paging.measured:
        made.append(_costs(paging))
    return made


def name_of(measured: Measured) -> str:
    """A row's device, messages, and what differs from the defaults."""
    row = measured.row
    buffer = "" if row.buffer == BUFFER else f", buffer {row.buffer:,}"
    return f"{row.device}, {row.messages:,} × {row.message_bytes}{_page(measured)}{buffer}"


def _speed_ups(device: str, measured: Sequence[Measured]) -> Table:
    return Table(
        f"paged-output · {device}",
        ("total bytes", "regular (µs)", "paged (µs)", "speed-up", "published"),
        tuple(
            (
                f"{each.row.total_bytes:,}{_page(each)}",
                f"{each.regular_s * 1e6:,.0f}",
                f"{each.paged_s * 1e6:,.0f}",
                f"{each.speedup:.2f}",
                _published(each.row.published_speedup, ".2f"),
            )
            for each in measured
        ),
    )


def _load_shedding(measured: Sequence[Measured]) -> Table:
    return Table(
        "paged-output · load shedding",
        ("device", "messages", "buffer (entries)", "speed-up", "dropped", "published"),
        tuple(
            (
                each.row.device,
                f"{each.row.messages:,} × {each.row.message_bytes}",
                f"{each.row.buffer:,}",
                f"{each.speedup:.2f}",
                f"{each.dropped / each.row.messages:.2%}",
                _published(each.row.published_dropped, ".2%"),
            )
            for each in measured
        ),
    )


def _costs(paging: Paging) -> Table:
    return Table(
        "paged-output · memory and CPU",
        ("", "held", "allowed", "regular", "paged", "ratio"),
        tuple(
            (
                name_of(each),
                f"{each.bytes_held_peak / 1024:,.0f}",
                f"{each.bytes_allowed / 1024:,.0f}",
                f"{each.regular_cpu_s / each.row.messages * 1e6:.2f}",
                f"{each.paged_cpu_s / each.row.messages * 1e6:.2f}",
                f"{each.paged_cpu_s / each.regular_cpu_s:.2f}",
            )
            for each in paging.measured
        ),
        (
            "Held: KiB in the paged writer, at most. "
            "Regular, paged: CPU of the worker's process, µs a message.",
            f"An idle paged writer uses {paging.idle_share:.4%} of a core.",
        ),
    )


def _published(figure: float | None, form: str) -> str:
    return NOTHING if figure is None else format(figure, form)


def _page(measured: Measured) -> str:
    return "" if measured.row.page_size == PAGE_SIZE else f", page {measured.row.page_size}"
