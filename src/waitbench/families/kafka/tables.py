"""What it costs to wait for a broker, and to be told by it, for each revision."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from waitbench.analysis.side_by_side import (
    Figure,
    SideBySide,
    cpu_of_item,
    late_of,
    share_of,
    start_and_memory,
)
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING, format_number

_HEADINGS = (
    "",
    "CPU, % of a core",
    "CPU, ms/message",
    "lateness p50, ms",
    "p99, ms",
    "in broker p50, ms",
    "broker's CPU, s",
    "threads",
)


_MEANING = (
    "CPU is the workers', from when every partition is read to the end of the last one. Lateness "
    "is from due to output, and has the way through the broker in it: a message is in the broker "
    "when that has said so to the producer."
)


def tables(records: Sequence[Record]) -> list[Table]:
    """A table for each scenario: a line for each revision. What they mean is said once."""
    found = [_table(record) for record in records]
    return [
        *found[:-1],
        *(replace(table, notes=(_MEANING, *table.notes)) for table in found[-1:]),
    ]


def _table(record: Record) -> Table:
    runs = {label: record.of(label) for label in record.context.labels}
    made = [run for found in runs.values() for run in found]
    is_ours = not made or any("service_cpu_broker" in run.metrics for run in made)
    return Table(
        f"{record.scenario} · medians",
        _HEADINGS,
        tuple(_row(label, found) for label, found in runs.items()),
        () if is_ours else ("The broker is the user's own: what it used is not known.",),
    )


def _row(label: str, runs: Sequence[Measurement]) -> tuple[str, ...]:
    def cell(key: str, factor: float) -> str:
        return _median([run.metrics[key] * factor for run in runs if key in run.metrics])

    has_messages = any(run.metrics.get("items_out") for run in runs)
    return (
        label,
        cell("cpu_share_steady", 100),
        _per_message(runs),
        cell("item_latency_p50", 1000),
        cell("item_latency_p99", 1000),
        cell("broker_delay_p50", 1000) if has_messages else NOTHING,
        cell("service_cpu_broker", 1),
        cell("worker_threads", 1),
    )


def _per_message(runs: Sequence[Measurement]) -> str:
    return _median(
        [
            run.metrics["time_cpu_steady"] / run.metrics["items_out"] * 1000
            for run in runs
            if run.metrics.get("items_out") and "time_cpu_steady" in run.metrics
        ]
    )


def _median(values: Sequence[float]) -> str:
    return format_number(median(values)) if values else NOTHING


_WAITS = "-long-input"
_SHARE = share_of("messages due", _WAITS)
_LATE_P99 = late_of("late, p99", _WAITS, "p99")

SIDE_BY_SIDE = SideBySide(
    title="kafka",
    groups={
        "what waiting costs, % of a core": (
            share_of("idle", "-idle"),
            share_of("bursts", "-burst"),
            share_of("one left", "-ended"),
            _SHARE,
        ),
        "a message, ms": (
            cpu_of_item("CPU, waiting", _WAITS),
            cpu_of_item("CPU, busy", "-busy"),
            late_of("late, median", _WAITS, "p50"),
            _LATE_P99,
        ),
        "start and memory": (
            *start_and_memory(_WAITS),
            Figure(title="threads", scenario=_WAITS, of_run=lambda run: run["worker_threads"]),
        ),
    },
    share=_SHARE,
    late=_LATE_P99,
)
