"""Calls of benchmarks/scoring_peers.py: what is known of each, as a file and as tables."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, median

from waitbench.model.metrics import quantile

LATE_S = 0.002
"""A call that overruns its limit by more is late."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One call."""

    transport: str
    call: int
    """Its number, from 0; equal numbers ask about equal contexts."""
    begun: float
    """On the monotonic clock, in seconds."""
    taken_s: float
    lines: int
    pending_before: int
    """Lines of earlier calls that were still to be answered."""
    cpu_s: float
    """CPU time of the calling thread."""
    model_ran_s: float
    """CPU time of the model's threads; 0 in process."""
    model_waited_s: float
    """How long these were ready to run and had no core, added up.

    Linux adds a wait when it is over: one that outlasts a call counts as the next one's.
    """
    model_ready: int = 0
    """After a call without a line: how many of the model's threads ran or were ready to."""
    stall_s: float = 0.0
    """The longest that the control process could not run during the call."""


def write(path: Path, rows: Sequence[Row]) -> None:
    """Writes a CSV file with a row a call."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def report(rows: Sequence[Row], limit_s: float) -> None:
    """Prints a line for each transport, and then what there is to know of calls without a line."""
    by_transport = {
        name: [row for row in rows if row.transport == name]
        for name in dict.fromkeys(row.transport for row in rows)
    }
    width = max(map(len, by_transport))
    heads = (
        "calls", "p50 ms", "p99 ms", "max ms", "lines", "no lines", "CPU ms", "model ms", "waited",
        "> limit + 2 ms (stalled)",
    )  # fmt: skip
    print("  ".join([f"{'transport':>{width}}", *(f"{head:>8}" for head in heads)]))
    for name, calls in by_transport.items():
        print(f"{name:>{width}}  {_summary(calls, limit_s)}")
    for name, calls in by_transport.items():
        _report_empty(name, calls)


def _summary(calls: Sequence[Row], limit_s: float) -> str:
    taken_ms = [row.taken_s * 1000 for row in calls]
    late = [row for row in calls if row.taken_s > limit_s + LATE_S]
    stalled = sum(_stood_still(row, row.taken_s - limit_s) for row in late)
    return (
        f"{len(calls):>8}  {median(taken_ms):>8.3f}  {quantile(taken_ms, 0.99):>8.3f}  "
        f"{max(taken_ms):>8.3f}  {fmean(row.lines for row in calls):>8.1f}  "
        f"{sum(row.lines == 0 for row in calls):>8}  "
        f"{fmean(row.cpu_s for row in calls) * 1000:>8.3f}  "
        f"{fmean(row.model_ran_s for row in calls) * 1000:>8.3f}  "
        f"{fmean(row.model_waited_s for row in calls) * 1000:>8.3f}  {len(late)} ({stalled})"
    )


def _report_empty(name: str, calls: Sequence[Row]) -> None:
    """Calls without a line, beside how usual it is that a call begins with leftovers."""
    empty = [row for row in calls if row.lines == 0]
    if not empty:
        return
    print(
        f"{name}: zero lines: {len(empty)}; of them {_with_leftovers(empty)} began with leftovers "
        f"(of all {len(calls)} calls {_with_leftovers(calls)}); "
        f"{sum(_stood_still(row, row.taken_s) for row in empty)} while the machine stood still"
    )
    for row in empty:
        print(
            f"    call {row.call}: {row.taken_s * 1000:.1f} ms, {row.pending_before} lines left "
            f"over; control stopped for {row.stall_s * 1000:.1f} ms; model ran "
            f"{row.model_ran_s * 1000:.1f} ms, waited for a core {row.model_waited_s * 1000:.1f} "
            f"ms, threads ready at the end: {row.model_ready}"
        )


def _with_leftovers(calls: Sequence[Row]) -> int:
    return sum(row.pending_before > 0 for row in calls)


def _stood_still(row: Row, part_s: float) -> bool:
    """Whether the control process could not run either for most of a part of the call."""
    return row.stall_s > part_s / 2
