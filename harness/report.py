"""A Comparison -> what a person reads: a table, and a sentence per candidate."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.metrics import BY_NAME, Metric
from harness.statistics import Comparison, Estimate, Verdict

SHOWN = ("real", "user", "system", "cpu")
"""The metrics of the table; total CPU stands beside system time, since a fix can move time from one to the other."""

_TOO_WIDE = 10
"""An unclear interval whose ends are further apart than this factor is not worth reading out."""

_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.SAME: "dim", Verdict.UNCLEAR: "yellow"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """The table of one scenario, then its sentences."""
    table = Table(
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
        collapse_padding=True,
        title=_title(comparison),
    )
    table.add_column("revision", no_wrap=True, overflow="ellipsis", max_width=22)
    for name in SHOWN:
        table.add_column(name, no_wrap=True)
    for row in comparison.rows:
        cells = [_cell(row.estimates.get(name), BY_NAME[name], row.ratios.get(name)) for name in SHOWN]
        table.add_row(Text(row.label), *cells)
    console.print(table)
    for sentence in sentences(comparison):
        console.print(Text(sentence))
    console.print()


def sentences(comparison: Comparison) -> list[str]:
    """What a person would say of each candidate, warnings included."""
    said = []
    baseline = comparison.rows[0]
    for row in comparison.rows:
        if row.failures:
            counts = ", ".join(f"{count} × {reason}" for reason, count in sorted(row.failures.items()))
            said.append(f"{row.label}: runs without a measurement: {counts}.")
        if row.identical_to:
            said.append(f"{row.label}: identical build: its compiled code is that of {row.identical_to}.")
        if row.ratios:
            parts = [_phrase(BY_NAME[name], row.ratios[name]) for name in ("system", "cpu", "real") if name in row.ratios]
            said.append(f"{row.label} against {baseline.label}: {', '.join(parts)}.")
            if row.moved_to_system:
                said.append(
                    f"{row.label}: CPU time moved from user to system: less in all, so the rise of system time alone is no "
                    "regression."
                )
    if comparison.mixed_origins:
        said.append("Mixed origins: these revisions were built by different compilers; part of a difference may be theirs.")
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
    if estimate.high is None:
        return ""
    percent = (estimate.high / estimate.value - 1) * 100
    return f" ±{percent:.0f} %" if percent < 300 else " ±>300 %"


def format_value(value: float, metric: Metric) -> str:
    """A value with its unit, as a person writes it."""
    if metric.unit == "second":
        return f"{value:.3f} s" if value < 10 else f"{value:.2f} s"
    if metric.unit == "byte":
        return f"{value / 2**20:.1f} MiB"
    return f"{value:,.0f}"


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
