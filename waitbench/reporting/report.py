"""A Comparison -> what a person reads: a table, and a sentence per candidate."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.statistics import Comparison, Estimate, Row, Verdict
from waitbench.execution.accounting import UNBALANCED
from waitbench.execution.measure import NOT_SUPPORTED
from waitbench.model.metrics import BY_NAME, Metric

WHOLE_RUN = ("real", "user", "system", "cpu")
"""The first table; total CPU stands beside system time, since a fix can move time from one to the other."""
WAITING = ("steady", "polls-per-item", "latency")
"""The second table: what the workers spent while they waited, and what that bought."""
SPLIT = {
    "cpu-startup": "start",
    "steady": "steady",
    "cpu-shutdown": "stop",
    "cpu-helpers": "helpers",
    "cpu-launcher": "launch",
}
"""Where the CPU time of a run went; helpers only where a workload starts programs of its own."""

_HEADINGS = {"steady": "steady CPU", "polls-per-item": "polls/item", "latency": "late, p99"}

_TOO_WIDE = 10
"""An unclear interval whose ends are further apart than this factor is not worth reading out."""

_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.SAME: "dim", Verdict.UNCLEAR: "yellow"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The tables of one scenario, then its sentences."""
    # Not the table's own title, which would be folded to the table's width.
    console.print(Text(_title(comparison), style="bold"))
    console.print(_table(comparison, WHOLE_RUN))
    waiting = [name for name in WAITING if any(name in row.estimates for row in comparison.rows)]
    if waiting:
        console.print(_table(comparison, waiting, split=True))
    for sentence in sentences(comparison):
        console.print(Text(sentence))
    console.print()


def _table(comparison: Comparison, metrics: Sequence[str], *, split: bool = False) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), collapse_padding=True)
    table.add_column("revision", no_wrap=True, overflow="ellipsis", min_width=7)
    for name in metrics:
        table.add_column(_HEADINGS.get(name, name), no_wrap=True)
    parts = [name for name in SPLIT if name != "cpu-helpers" or _has_helpers(comparison)]
    if split:
        half = len(parts) // 2
        names = [SPLIT[name] for name in parts]
        table.add_column("/".join(names[:half]) + "/\n" + "/".join(names[half:]), no_wrap=True)
    for row in comparison.rows:
        cells = [_cell(row.estimates.get(name), BY_NAME[name], row.ratios.get(name)) for name in metrics]
        table.add_row(Text(row.label), *cells, *([_split(row, parts)] if split else []))
    return table


def _has_helpers(comparison: Comparison) -> bool:
    return any(row.estimates["cpu-helpers"].value > 0 for row in comparison.rows if "cpu-helpers" in row.estimates)


def _split(row: Row, names: Sequence[str]) -> Text:
    """Where the CPU time of a run went, in per cent."""
    parts = [row.estimates[name].value for name in names if name in row.estimates]
    if len(parts) < len(names) or not sum(parts):
        return Text("–")
    return Text("/".join(f"{max(part, 0) / sum(parts) * 100:.0f}" for part in parts) + " %")


def sentences(comparison: Comparison) -> list[str]:
    """What a person would say of each candidate, warnings included."""
    said = []
    baseline = comparison.rows[0]
    for row in comparison.rows:
        if row.ratios:
            parts = [_phrase(BY_NAME[name], row.ratios[name]) for name in ("system", "cpu", "real") if name in row.ratios]
            said.append(f"{row.label} against {baseline.label}: {', '.join(parts)}.")
            if row.moved_to_system:
                said.append(
                    f"{row.label}: CPU time moved from user to system: less in all, so the rise of system time alone is no "
                    "regression."
                )
            said += _about_waiting(row, baseline, waits=comparison.waits)
        said += _warnings(row)
    if comparison.mixed_origins:
        said.append("Mixed origins: these revisions were built by different compilers; part of a difference may be theirs.")
    return said


def _about_waiting(row: Row, baseline: Row, *, waits: bool) -> list[str]:
    """What the workers spend while they wait, and what that does to the items."""
    steady = row.ratios.get("steady")
    if not waits or steady is None or steady.low is None:
        return []
    if steady.verdict in (Verdict.FASTER, Verdict.SLOWER):
        spend = (
            f"workers spend {_factor(steady.value).replace('lower', 'less').replace('higher', 'more')} CPU while waiting"
        )
    else:
        spend = (
            "workers spend about as much CPU while waiting"
            if steady.verdict is Verdict.SAME
            else "CPU while waiting is unclear"
        )
    ours, theirs, ratio = row.estimates.get("latency"), baseline.estimates.get("latency"), row.ratios.get("latency")
    if ours is None or theirs is None or ratio is None:
        return [f"{row.label}: {spend}."]
    difference_ms = (ours.value - theirs.value) * 1000
    if ratio.verdict is Verdict.UNCLEAR:
        late = f"whether items are later is unclear ({theirs.value * 1000:.1f} and {ours.value * 1000:.1f} ms at p99)"
    elif ratio.verdict is Verdict.SAME or abs(difference_ms) < 0.05:
        late = "items arrive no later at p99"
    else:
        late = f"items arrive {abs(difference_ms):.1f} ms {'later' if difference_ms > 0 else 'earlier'} at p99"
    return [f"{row.label}: {spend}; {late}."]


def _warnings(row: Row) -> list[str]:
    said = []
    if NOT_SUPPORTED in row.failures:
        said.append(f"{row.label}: not supported: its sources cannot say when to be asked next.")
    counts = ", ".join(f"{count} × {reason}" for reason, count in sorted(row.failures.items()) if reason != NOT_SUPPORTED)
    if counts:
        said.append(f"{row.label}: runs without a measurement: {counts}.")
    if UNBALANCED in row.marks:
        said.append(
            f"{row.label}: in {row.marks[UNBALANCED]} runs the CPU of workers and launcher does not add up to hyperfine's total."
        )
    if row.identical_to:
        said.append(f"{row.label}: identical build: its compiled code is that of {row.identical_to}.")
    if row.launcher_cpu_s is not None:
        said.append(
            f"{row.label}: bytewax's own launcher would have added {row.launcher_cpu_s:.2f} s of CPU (one extra run)."
        )
    return said


def as_json(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """The comparisons as plain data, for ``--json``."""
    return [
        {
            "scenario": comparison.scenario,
            "topology": comparison.topology,
            "mixed_origins": comparison.mixed_origins,
            "baseline": comparison.rows[0].label,
            "revisions": [
                {
                    "label": row.label,
                    "metrics": {name: _plain(estimate, BY_NAME[name]) for name, estimate in row.estimates.items()},
                    "ratios": {name: _plain_ratio(ratio) for name, ratio in row.ratios.items()},
                    "failures": dict(row.failures),
                    "marks": dict(row.marks),
                    "launcher_cpu_s": row.launcher_cpu_s,
                    "identical_to": row.identical_to,
                }
                for row in comparison.rows
            ],
            "sentences": sentences(comparison),
        }
        for comparison in comparisons
    ]


def _title(comparison: Comparison) -> str:
    rounds = max((e.count for row in comparison.rows for e in row.estimates.values()), default=0)
    return f"{comparison.scenario} · {comparison.topology} · {rounds} round{'s' * (rounds != 1)}"


def _cell(estimate: Estimate | None, metric: Metric, ratio: Estimate | None) -> Text:
    """The estimate, and below it the ratio to the baseline, each with half its interval in per cent."""
    if estimate is None:
        return Text("–")
    text = Text(format_value(estimate.value, metric))
    text.append(_plus_minus(estimate), style="dim")
    if ratio is not None:
        text.append(f"\n× {ratio.value:.3g}", style=_STYLES[ratio.verdict])
        text.append(_plus_minus(ratio), style="dim")
    return text


def _plus_minus(estimate: Estimate) -> str:
    if estimate.high is None or not estimate.value:
        return ""
    percent = (estimate.high / estimate.value - 1) * 100
    return f" ±{percent:.0f} %" if percent < 300 else " ±>300 %"


def format_value(value: float, metric: Metric) -> str:
    """A value with its unit, as a person writes it."""
    if metric.unit == "second":
        if value < 0.1 and metric.key.startswith("item_latency"):
            return f"{value * 1000:.2f} ms"
        return f"{value:.3f} s" if value < 10 else f"{value:.2f} s"
    if metric.unit == "byte":
        return f"{value / 2**20:.1f} MiB"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _phrase(metric: Metric, ratio: Estimate) -> str:
    if ratio.verdict is Verdict.SAME:
        return f"{metric.title} unchanged"
    if ratio.low is None or ratio.high is None:
        return f"{metric.title} {_factor(ratio.value)} (one round: no interval)"
    if ratio.verdict is Verdict.UNCLEAR and ratio.high / ratio.low > _TOO_WIDE:
        return f"{metric.title} too noisy to compare in {ratio.count} rounds"
    if ratio.verdict is Verdict.UNCLEAR:
        return f"{metric.title} unclear (ratio {ratio.value:.2f}, 95 % CI {ratio.low:.2f}–{ratio.high:.2f})"
    low, high = sorted((_size(ratio.low), _size(ratio.high)))
    if max(ratio.value, 1 / ratio.value) >= 2:
        return f"{metric.title} {_factor(ratio.value)} (95 % CI {low:.3g}–{high:.3g})"
    low, high = sorted((abs(ratio.low - 1) * 100, abs(ratio.high - 1) * 100))
    return f"{metric.title} {_factor(ratio.value)} (95 % CI {low:.0f}–{high:.0f} %)"


def _factor(ratio: float) -> str:
    direction = "lower" if ratio < 1 else "higher"
    return f"{_size(ratio):.3g}× {direction}" if _size(ratio) >= 2 else f"{abs(ratio - 1) * 100:.0f} % {direction}"


def _size(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _plain(estimate: Estimate, metric: Metric) -> dict[str, Any]:
    return {
        "value": estimate.value, "low": estimate.low, "high": estimate.high, "count": estimate.count, "unit": metric.unit,
    }  # fmt: skip


def _plain_ratio(ratio: Estimate) -> dict[str, Any]:
    return {
        "value": ratio.value, "low": ratio.low, "high": ratio.high, "count": ratio.count, "verdict": ratio.verdict.value,
    }  # fmt: skip
