"""Numbers as people write them: counts, values, changes, ratios, intervals, shares.

What stands in a sentence is a change, "13× less"; a column of ratios has ratios, "× 0.0764".
Nothing else writes a figure: it reads alike wherever it stands.
"""

import math
from collections.abc import Callable, Sequence

from waitbench.analysis.statistics import Estimate
from waitbench.model.metrics import Metric

NOTHING = "–"
"""Stands where there is no figure."""

_DIGITS = 3
"""Of a value: more is noise."""
_SAID_DIGITS = 2
"""Of what is said in a sentence, from a factor of 2 on."""
_SHARES_BELOW = 1.1
"""Changes by less than this factor are said in per cent."""
_SAME = "0 %"
_MANY = 10_000
"""Counts from here on are said in thousands and millions."""
_TIMES = ((0.1, "s", 1.0), (1e-4, "ms", 1e3), (0.0, "µs", 1e6))
"""From so many seconds on, the unit and its number in a second."""
_LEAST = 1e-6
"""What is below counts as 0, and a change by the inverse of it as boundless."""
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def format_count(count: int, one: str, many: str) -> str:
    """So many, with the words that fit: ``1 round``, ``5 rounds``."""
    return f"{count} {one if count == 1 else many}"


def format_digits(value: float, digits: int, *, zeros: bool = False) -> str:
    """So many significant digits, or all before the point; never an exponent.

    ``zeros`` keeps those at the end, so that values below one another are aligned on the point.
    """
    if not math.isfinite(value):
        return "∞"
    if abs(value) < _LEAST:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}") if abs(value) < 10**digits else round(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{places}f}"
    return text if zeros or "." not in text else text.rstrip("0").rstrip(".")


def format_number(value: float) -> str:
    """Three digits, or all before the point."""
    return format_digits(value, _DIGITS)


def format_value(value: float, metric: Metric) -> str:
    """A value with its unit."""
    if metric.unit == "second":
        return format_seconds(value)
    if metric.unit == "byte":
        return format_bytes(value)
    return format_number(value)


def format_seconds(value: float) -> str:
    """A time, in the unit in which it is read without counting zeros."""
    if abs(value) < _LEAST:
        return "0 s"
    unit, scale = next((unit, scale) for least, unit, scale in _TIMES if abs(value) >= least)
    return f"{format_digits(value * scale, _DIGITS, zeros=True)} {unit}"


def format_bytes(value: float) -> str:
    """A size in the unit that fits."""
    found = ((size, unit) for size, unit in _SIZES if abs(value) >= size)
    size, unit = next(found, (1, "B"))
    return f"{format_digits(value / size, _DIGITS, zeros=unit != 'B')} {unit}"


def unit_for(values: Sequence[float], metric: Metric) -> tuple[str, float]:
    """The unit in which a column of such values is read, and how many of it are one of theirs."""
    most = max(map(abs, values), default=0.0)
    if metric.unit == "second":
        return next((unit, scale) for least, unit, scale in _TIMES if most >= least)
    if metric.unit == "byte":
        return next(((unit, 1 / size) for size, unit in _SIZES if most >= size), ("B", 1.0))
    return "", 1.0


def format_said(value: float, metric: Metric) -> str:
    """A value as it is said: "20k", where a table has 20,123."""
    if metric.unit in ("second", "byte") or abs(value) < _MANY:
        return format_value(value, metric)
    return format_many(value)


def format_many(value: float) -> str:
    """A large number as it is said."""
    rounded = float(f"{value:.{_SAID_DIGITS - 1}e}")
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if abs(rounded) >= size:
            return f"{format_digits(rounded / size, _DIGITS)}{letter}"
    return format_digits(rounded, _DIGITS)


def format_spread(mean: Estimate, write: Callable[[float], str]) -> str:
    """Half of a mean's interval, in per cent of the mean; empty where there is none.

    One that is cut off at zero has no equal halves: it is given by its ends.
    """
    if mean.high is None or not mean.value:
        return ""
    if not mean.low:
        return f"(0–{write(mean.high)})"
    return f"±{(mean.high / mean.value - 1) * 100:.0f} %"


def format_change(ratio: Estimate | float) -> str:
    """A ratio as it is said: "13× less", "1.3× more", "4 % less"; at least that, of a bound."""
    value = ratio.value if isinstance(ratio, Estimate) else ratio
    size = _size(value)
    bound = "at least " if isinstance(ratio, Estimate) and ratio.is_bound else ""
    if size == _SAME:
        return "the same"
    return f"{bound}{size} {_direction(value)}"


def _direction(ratio: float) -> str:
    return "less" if ratio < 1 else "more"


def format_range(ratio: Estimate) -> str:
    """The interval of a ratio as it is said: "4.3× – 40× less", "4 % less – 1.2× more".

    A bound has no far end: "at least 2.2× more".
    """
    if ratio.low is None or ratio.high is None:
        return ""
    # Nearest to no change first.
    ends = sorted((ratio.low, ratio.high), key=_factor)
    if ratio.is_bound and not ratio.low <= 1 <= ratio.high:
        return f"at least {_size(ends[0])} {_direction(ratio.value)}"
    if all(_size(end) == _SAME for end in ends):
        return _SAME
    if (ratio.low < 1) == (ratio.high < 1) or _size(ends[0]) == _SAME:
        in_percent = max(_factor(end) for end in ends) < _SHARES_BELOW
        near, far = (_percent(end) if in_percent else _times(_factor(end)) for end in ends)
        span = near if near == far else f"{near} – {far}"
        return f"{span} {_direction(ends[1])}"
    return f"{format_change(ratio.low)} – {format_change(ratio.high)}"


def _factor(ratio: float) -> float:
    """How far a ratio is from 1, whichever side it is on."""
    return max(ratio, 1 / max(ratio, _LEAST), 1.0)


def _size(ratio: float) -> str:
    factor = _factor(ratio)
    return _percent(ratio) if factor < _SHARES_BELOW else _times(factor)


def _percent(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.0f} %"


def _times(factor: float) -> str:
    if factor >= 1 / _LEAST:
        return "> 1M×"
    if factor < 2:
        return f"{format_digits(factor, _DIGITS)}×"
    return f"{format_many(factor)}×"


def format_factor(ratio: float) -> str:
    """A ratio without its interval."""
    return f"× {format_number(ratio)}"


def format_estimate(ratio: Estimate) -> str:
    """A ratio without its interval; of next to nothing there is only a bound."""
    sign = ("≥ " if ratio.value > 1 else "≤ ") if ratio.is_bound else ""
    return f"{sign}{format_factor(ratio.value)}"


def format_interval(ratio: Estimate) -> str:
    """The interval of a ratio, which has no equal halves; empty where there is none."""
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return ""
    return f"({format_number(ratio.low)}–{format_number(ratio.high)})"


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
