"""Numbers as people write them: counts, values, ratios, intervals, shares."""

from collections.abc import Callable, Iterable, Sequence

from waitbench.analysis.statistics import Estimate
from waitbench.model.metrics import Metric

NOTHING = "–"
"""Stands where there is no figure."""

Statistic = Callable[[Sequence[float]], float]


def format_count(count: int, one: str, many: str) -> str:
    """So many, with the words that fit: ``1 round``, ``5 rounds``."""
    return f"{count} {one if count == 1 else many}"


def format_number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def format_statistic(
    name: str, columns: Iterable[Sequence[float]], statistic: Statistic, form: str
) -> tuple[str, ...]:
    """The row of a table with a statistic of each column; ``form`` says how numbers are written."""
    cells = (form.format(statistic(column)) if column else NOTHING for column in columns)
    return (name, *cells)


def format_value(value: float, metric: Metric) -> str:
    """A value with its unit."""
    if metric.unit == "second":
        if value < 0.1 and metric.key.startswith("item_latency"):
            return f"{value * 1000:.2f} ms"
        return f"{value:.3f} s" if value < 10 else f"{value:.2f} s"
    if metric.unit == "byte":
        return f"{value / 2**20:.1f} MiB"
    return format_number(value)


def format_spread(mean: Estimate, write: Callable[[float], str]) -> str:
    """Half of a mean's interval, in per cent of the mean; empty where there is none.

    One that is cut off at zero has no equal halves: it is given by its ends.
    """
    if mean.high is None or not mean.value:
        return ""
    if not mean.low:
        return f"(0–{write(mean.high)})"
    return f"±{(mean.high / mean.value - 1) * 100:.0f} %"


def format_factor(ratio: float) -> str:
    """A ratio without its interval."""
    return f"× {ratio:.3g}"


def format_estimate(ratio: Estimate) -> str:
    """A ratio without its interval; of next to nothing there is only a bound."""
    sign = ("≥ " if ratio.value > 1 else "≤ ") if ratio.is_bound else ""
    return f"{sign}{format_factor(ratio.value)}"


def format_interval(ratio: Estimate) -> str:
    """The interval of a ratio, which has no equal halves; empty where there is none."""
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return ""
    return f"({ratio.low:.3g}–{ratio.high:.3g})"


def format_ratio(ratio: Estimate) -> str:
    """A ratio and its interval, if it has one."""
    return f"{format_estimate(ratio)} {format_interval(ratio)}".rstrip()


def format_bound(ratio: float) -> str:
    """A ratio, or a bound of one, of a gate: with two decimals where it is about 1."""
    if ratio >= 1000:
        return "> 1000"
    if ratio >= 10:
        return f"{ratio:.3g}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def format_share(share: float) -> str:
    """A share in per cent."""
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"
