"""A Comparison -> the tables of one scenario, with its sentences below."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.reporting.columns import Column, Names, print_columns
from waitbench.reporting.sentences import sentences
from waitbench.reporting.style import STYLES

WHOLE_RUN = ("real", "user", "system", "cpu")
"""The first table; total CPU stands beside system time, since a fix can move user time there."""
WAITING = ("steady", "polls-per-item", "latency")
"""The second table: what the workers spent while they waited, and what that bought."""
CONSISTS_OF = ("wakeups", "syscalls", "polls", "steady-system")
"""The third table: what waiting consists of, counted and sampled where the machine allows it."""
SPLIT = {
    "cpu-startup": "start",
    "steady": "steady",
    "cpu-shutdown": "stop",
    "cpu-helpers": "helpers",
    "cpu-launcher": "launch",
}
"""Where the CPU time of a run went; helpers only where a workload starts programs of its own."""

_HEADINGS = {
    "steady": "steady CPU",
    "polls-per-item": "polls/item",
    "latency": "late, p99",
    "wakeups": "wake-ups",
    "syscalls": "system calls",
}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints the tables of one scenario, then its sentences."""
    # Not the table's own title, which would be folded to the table's width.
    means = " · means" if comparison.rounds > 1 else ""
    console.print(Text(f"{title(comparison)}{means}", style="bold"))
    _print_table(comparison, WHOLE_RUN, console)
    waiting = known(comparison, WAITING)
    if waiting:
        _print_table(comparison, waiting, console, split=True)
    # Polls alone are in the table above, by item.
    consists_of = known(comparison, CONSISTS_OF)
    if comparison.waits and len(consists_of) > 1:
        _print_table(comparison, consists_of, console)
    for sentence in sentences(comparison):
        console.print(Text(sentence))
    console.print()


def known(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Those of the metrics that some revision has."""
    return [name for name in names if any(name in row.estimates for row in comparison.rows)]


def format_value(value: float, metric: Metric) -> str:
    """A value with its unit, as a person writes it."""
    if metric.unit == "second":
        if value < 0.1 and metric.key.startswith("item_latency"):
            return f"{value * 1000:.2f} ms"
        return f"{value:.3f} s" if value < 10 else f"{value:.2f} s"
    if metric.unit == "byte":
        return f"{value / 2**20:.1f} MiB"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def title(comparison: Comparison) -> str:
    """Scenario, topology, and how many rounds."""
    all_rounds = comparison.rounds + comparison.left_out
    rounds = "1 round" if all_rounds == 1 else f"{all_rounds} rounds"
    if comparison.left_out:
        rounds = f"{comparison.rounds} of {rounds}"
    return f"{comparison.scenario} · {comparison.topology} · {rounds}"


def _print_table(
    comparison: Comparison, metrics: Sequence[str], console: Console, *, split: bool = False
) -> None:
    rows = comparison.rows
    columns = [
        Column(
            heading=heading(name, comparison),
            cells=[
                _cell(row.estimates.get(name), BY_NAME[name], row.ratios.get(name)) for row in rows
            ],
        )
        for name in metrics
    ]
    if split:
        columns.append(_split_column(comparison))
    print_columns([Names(heading="revision", texts=[row.label for row in rows])], columns, console)


def _split_column(comparison: Comparison) -> Column:
    parts = [name for name in SPLIT if name != "cpu-helpers" or _has_helpers(comparison)]
    half = len(parts) // 2
    names = [SPLIT[name] for name in parts]
    return Column(
        heading="/".join(names[:half]) + "/\n" + "/".join(names[half:]),
        cells=[_split(row, parts) for row in comparison.rows],
    )


def heading(name: str, comparison: Comparison) -> str:
    """What stands above a metric; of steady system time, how it is known."""
    if name == "steady-system":
        return "steady system" if known(comparison, ["sampled"]) else "system (ticks)"
    return _HEADINGS.get(name, name)


def _has_helpers(comparison: Comparison) -> bool:
    helpers = (row.estimates.get("cpu-helpers") for row in comparison.rows)
    return any(estimate is not None and estimate.value > 0 for estimate in helpers)


def _split(row: Row, names: Sequence[str]) -> Text:
    """Where the CPU time of a run went, in per cent."""
    parts = [row.estimates[name].value for name in names if name in row.estimates]
    if len(parts) < len(names) or not sum(parts):
        return Text("–")
    return Text("/".join(f"{max(part, 0) / sum(parts) * 100:.0f}" for part in parts) + " %")


def _cell(estimate: Estimate | None, metric: Metric, ratio: Estimate | None) -> Text:
    """The estimate, and below it the ratio to the baseline, each with its interval."""
    if estimate is None:
        return Text("–")
    text = Text(format_value(estimate.value, metric))
    spread = format_spread(estimate, lambda value: format_value(value, metric))
    text.append(f" {spread}".rstrip(), style="dim")
    if ratio is not None:
        text.append(f"\n× {ratio.value:.3g}", style=STYLES[ratio.verdict])
        # Below it: four columns of ratios with intervals beside them do not fit 80 characters.
        text.append(f"\n{format_interval(ratio)}".rstrip(), style="dim")
    return text


def format_spread(mean: Estimate, write: Callable[[float], str]) -> str:
    """Half of a mean's interval, in per cent of the mean; empty where there is none.

    One that is cut off at zero has no equal halves: it is given by its ends.
    """
    if mean.high is None or not mean.value:
        return ""
    if not mean.low:
        return f"(0–{write(mean.high)})"
    return f"±{(mean.high / mean.value - 1) * 100:.0f} %"


def format_interval(ratio: Estimate) -> str:
    """The interval of a ratio, which has no equal halves; empty where there is none."""
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return ""
    return f"({ratio.low:.3g}–{ratio.high:.3g})"
