"""Numbers as text that looks alike everywhere: counts, values, ratios, intervals and shares.

A ratio is written as a change: "13× less", or "+4.2 %" below 1.5×. Its interval has the same unit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from waitbench.analysis.criteria import Limit
from waitbench.model.metrics import Metric
from waitbench.model.verdicts import Estimate

NOT_KNOWN = "not known"
NOTHING = "–"
"""Takes the place of a figure."""
FARTHEST = 10.0
"""An end of an interval is not printed if it differs from the ratio by a larger factor."""

_DIGITS = 3
_SHARES_BELOW = 1.5
"""Changes by a smaller factor are in per cent."""
_WHOLE = 9.95
"""From this value on, rounding to two significant digits leaves no digit after the point."""
_UNITS: Mapping[str, Sequence[tuple[float, str, float]]] = {
    "second": ((0.1, "s", 1.0), (1e-4, "ms", 1e3), (0.0, "µs", 1e6)),
    "core": ((0.0, "%", 100.0),),
    "byte": ((2**30, "GiB", 2**-30), (2**20, "MiB", 2**-20), (2**10, "KiB", 2**-10), (0, "B", 1)),
}
"""For the unit of a metric, units to show: the least value, the name, and the factor of each."""
_LEAST = 1e-6
"""Smaller values are shown as 0, and factors of at least ``1 / _LEAST`` as "> 1M"."""


def format_count(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def format_span(values: Iterable[float], form: str) -> str:
    """The least and the greatest value, such as "4–20"; empty without values."""
    ordered = sorted(values)
    return "–".join(dict.fromkeys(format(end, form) for end in ordered[:1] + ordered[-1:]))


def format_digits(value: float, digits: int = _DIGITS, *, zeros: bool = False) -> str:
    """Rounds to significant digits, keeping all before the point; ``zeros`` keeps final zeros."""
    if not math.isfinite(value):
        return "∞"
    if abs(value) < _LEAST:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}") if abs(value) < 10**digits else round(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{places}f}".replace("-", "−")
    return text if zeros or "." not in text else text.rstrip("0").rstrip(".")


def format_values(
    values: Sequence[float | None], metric_unit: str, digits: int = _DIGITS
) -> list[str]:
    """Values in one unit, chosen for the largest; ``metric_unit`` is that of the values."""
    unit, scale = _unit_for([value for value in values if value is not None], metric_unit)
    return [
        NOTHING
        if value is None
        else f"{format_digits(value * scale, digits, zeros=bool(unit))} {unit}".rstrip()
        for value in values
    ]


def format_quantity(value: float, metric_unit: str, digits: int = _DIGITS) -> str:
    return format_values([value], metric_unit, digits)[0]


def _unit_for(values: Iterable[float], metric_unit: str) -> tuple[str, float]:
    most = max(map(abs, values), default=0.0)
    units = _UNITS.get(metric_unit, ((0.0, "", 1.0),))
    return next((unit, scale) for least, unit, scale in units if most >= least)


def format_columns(
    columns: Sequence[Sequence[float | None]],
    metric_unit: str,
    like: Sequence[Sequence[float | None]],
) -> tuple[str, list[list[str]]]:
    """Formats columns in three digits, such as ".091" and "48.5".

    Returns their unit, which is chosen for the median of ``like``, and the columns.
    """
    values = [abs(value) for column in like for value in column if value]
    unit, scale = _unit_for([median(values)] if values else [], metric_unit)
    return unit, [[_format_narrow(value, scale) for value in column] for column in columns]


def _format_narrow(value: float | None, scale: float) -> str:
    if value is None:
        return NOTHING
    scaled = value * scale
    limits = ((0.0, 0), (0.9995, 3), (9.995, 2), (99.95, 1))
    places = next((places for most, places in limits if abs(scaled) <= most), 0)
    text = f"{scaled:,.{places}f}"
    return text.removeprefix("0") if places == 3 else text


def format_limit(value: float, metric: Metric) -> str:
    unit, scale = _unit_for([value], metric.unit)
    return f"{value * scale:g} {unit}".rstrip()


def format_value_of_share(limit: Limit, share: float) -> str:
    """A share of a limit as a value, in the unit in which the user wrote the limit."""
    unit = limit.unit if limit.unit.startswith("/") else f" {limit.unit}"
    return f"{format_digits(share * limit.most / limit.size)}{unit}".rstrip()


def format_change(ratio: float, like: float | None = None) -> str:
    """A ratio as a change: "13× less"; or "+4.2 %" if ``like``, by default the ratio, is near 1."""
    if factor_of(ratio if like is None else like) < _SHARES_BELOW:
        return f"{_percent(ratio)} %"
    return f"{_times(factor_of(ratio))}× {'less' if ratio < 1 else 'more'}"


def format_range(ratio: Estimate, *, whole: bool = False) -> str:
    """The interval of a ratio in the unit of the ratio: "4.3–40×", "−4.0…+20 %".

    If the ratio is 1.5× or more either way, an interval that includes 1 is "÷1.2…×3.0". An end
    that differs from the ratio by more than ``FARTHEST`` is left out, so the result is the other
    end, or "not known". ``whole`` leaves out tenths of a per cent.
    """
    value = ratio.value
    ends = (ratio.low, ratio.high)
    low, high = (end if end and factor_of(end / value) <= FARTHEST else None for end in ends)
    if low is None or high is None:
        end = high if low is None else low
        if end is None:
            return "" if ends == (None, None) else NOT_KNOWN
        text = format_change(end, value)
        # "Less" inverts the ratio: its lower bound becomes the upper bound of the factor.
        is_most = (low is None) is not text.endswith("less")
        return f"{'≤' if is_most else '≥'} {text}"
    if factor_of(value) < _SHARES_BELOW:
        texts = dict.fromkeys(_percent(end, whole=whole) for end in (low, high))
        return f"{'…'.join(texts)} %"
    if low < 1 < high:
        return f"÷{_times(1 / low)}…×{_times(high)}"
    factors = sorted(map(factor_of, (low, high)))
    return f"{'–'.join(dict.fromkeys(map(_times, factors)))}×"


def format_bound(ratios: Iterable[Estimate]) -> str:
    """The largest change within some intervals, in whole per cent: "±8 %"."""
    ends = [end for ratio in ratios for end in (ratio.low, ratio.high) if end]
    return f"±{max(1, math.ceil(max(abs(end - 1) for end in ends) * 100 - 1e-9))} %"


def factor_of(ratio: float) -> float:
    """The factor between a ratio and 1: 2 for both 0.5 and 2."""
    return max(ratio, 1 / max(ratio, _LEAST), 1.0)


def _percent(ratio: float, *, whole: bool = False) -> str:
    percent = abs(ratio - 1) * 100
    size = f"{percent:.0f}" if whole else _two_digits(percent)
    return "0" if size in ("0", "0.0") else f"{'−' if ratio < 1 else '+'}{size}"


def _times(factor: float) -> str:
    return "> 1M" if factor >= 1 / _LEAST else _two_digits(factor)


def _two_digits(value: float) -> str:
    if value < _WHOLE:
        return f"{value:.1f}"
    return format_digits(float(f"{value:.1e}"))


def format_share(share: float) -> str:
    """A ratio to a limit: "8.4 %", or from 1.5 on "21×"."""
    return f"{_times(share)}×" if share >= _SHARES_BELOW else f"{_two_digits(share * 100)} %"


def format_shares(ratio: Estimate) -> str:
    """The interval of a ratio to a limit, in the unit of the ratio: "7.0–9.1 %", "≤ 24×"."""
    is_factor = ratio.value >= _SHARES_BELOW
    low, high = (
        end and (_times(end) if is_factor else _two_digits(end * 100))
        for end in (ratio.low, ratio.high)
    )
    if low and high:
        text = "–".join(dict.fromkeys((low, high)))
    else:
        text = f"≥ {low}" if low else f"≤ {high}" if high else ""
    return text and f"{text}{'×' if is_factor else ' %'}"
