"""A Comparison -> the tables of one scenario, and plain data."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.idle import idle_cost
from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.model.metrics import BY_NAME
from waitbench.reporting import idle
from waitbench.reporting.console import print_cells
from waitbench.reporting.document import Cell, Heading, Table, Value
from waitbench.reporting.formats import NOTHING, format_count
from waitbench.reporting.idle import Price
from waitbench.reporting.shortening import named, short_names

WHOLE_RUN = ("real", "user", "system", "cpu")
"""The first table; total CPU stands beside system time, since a fix can move user time there."""
WAITING = ("steady", "polls-per-item", "latency")
"""The second table: what the workers spent while they waited, and what that bought."""
CONSISTS_OF = ("wakeups", "syscalls", "polls", "steady-system")
"""The third table: what waiting consists of."""
SPLIT = {"cpu-startup": "start", "steady": "steady", "cpu-shutdown": "stop"}
"""Where the CPU time of a run went."""

_HEADINGS = {
    "steady": "steady CPU",
    "polls-per-item": "polls/item",
    "latency": "late, p99",
    "wakeups": "wake-ups",
    "syscalls": "system calls",
    "steady-system": "steady system",
}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints the tables of one scenario."""
    comparison = named(comparison, short_names([row.label for row in comparison.rows]))
    # Not the table's own title, which would be folded to the table's width.
    means = " · means" if comparison.rounds > 1 else ""
    console.print(Text(f"{title(comparison)}{means}", style="bold"))
    print_cells(table(comparison, WHOLE_RUN), console)
    waiting = known(comparison, WAITING)
    if waiting:
        print_cells(table(comparison, waiting, split=True), console)
    # Polls alone are in the table above, by item.
    consists_of = known(comparison, CONSISTS_OF)
    if comparison.record.waits and len(consists_of) > 1:
        print_cells(table(comparison, consists_of), console)
    console.print()


def known(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Those of the metrics that some revision has."""
    return [name for name in names if any(name in row.estimates for row in comparison.rows)]


def title(comparison: Comparison) -> str:
    """Scenario, topology, and how many rounds."""
    rounds = format_count(comparison.rounds + comparison.left_out, "round", "rounds")
    if comparison.left_out:
        rounds = f"{comparison.rounds} of {rounds}"
    return f"{comparison.scenario} · {comparison.record.topology} · {rounds}"


def table(
    comparison: Comparison, metrics: Sequence[str], title: str = "", *, split: bool = False
) -> Table:
    """A row for each revision, with the mean of each metric and its ratio to the baseline.

    ``split``: with where the CPU time of a run went, too.
    """
    header = [Heading(_HEADINGS.get(name, name)) for name in metrics]
    rows = [[row.label, *(_cell(row, name) for name in metrics)] for row in comparison.rows]
    if split:
        header.append(Heading("/".join(SPLIT.values())))
        for cells, row in zip(rows, comparison.rows, strict=True):
            cells.append(_split(row))
    return Table(title, ("revision", *header), tuple(map(tuple, rows)), least=12)


def _cell(row: Row, name: str) -> Cell:
    if name not in row.estimates:
        return NOTHING
    return Value(row.estimates[name], BY_NAME[name], row.ratios.get(name))


def _split(row: Row) -> str:
    """Where the CPU time of a run went, in per cent."""
    parts = [row.estimates[name].value for name in SPLIT if name in row.estimates]
    if len(parts) < len(SPLIT) or not sum(parts):
        return NOTHING
    return "/".join(f"{max(part, 0) / sum(parts) * 100:.0f}" for part in parts) + " %"


def plain(comparisons: Sequence[Comparison], price: Price | None = None) -> list[dict[str, Any]]:
    """Everything that is known of each scenario, ready for JSON; money only with a price."""
    return [
        {
            "scenario": comparison.scenario,
            "topology": comparison.record.topology,
            "mixed_origins": comparison.record.context.mixed_origins,
            "baseline": comparison.baseline.label,
            "rounds": comparison.rounds,
            "disturbed_rounds": comparison.disturbed,
            "revisions": [_plain_row(row, comparison, price) for row in comparison.rows],
        }
        for comparison in comparisons
    ]


def plain_ratio(ratio: Estimate) -> dict[str, Any]:
    """A ratio to the baseline; ``is_bound`` where one of the two is next to nothing."""
    said = {"is_bound": ratio.is_bound, "verdict": ratio.verdict.value}
    return {**_plain_estimate(ratio), **said}


def _plain_row(row: Row, comparison: Comparison, price: Price | None) -> dict[str, Any]:
    cost = idle_cost(row, comparison) if comparison.record.mostly_waits else None
    units = {metric.name: metric.unit for metric in comparison.record.metrics}
    return {
        "label": row.label,
        "metrics": {
            name: {**_plain_estimate(estimate), "unit": units[name]}
            for name, estimate in row.estimates.items()
        },
        "ratios": {name: plain_ratio(ratio) for name, ratio in row.ratios.items()},
        "idle": None if cost is None else idle.plain(cost, price),
        "failures": {reason: len(failed) for reason, failed in row.failures.items()},
        "marks": dict(row.marks),
        "identical_to": row.identical_to,
    }


def _plain_estimate(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "count")}
