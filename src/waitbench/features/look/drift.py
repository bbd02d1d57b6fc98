"""Quantities of a running process that keep rising: a leak, but neither a sawtooth nor a start.

Readings are divided into twelve blocks of time. A quantity rises if the lowest reading of each of
the last four blocks is above that of each of the first four, and so is the highest one: if none
rose, the chance of the first alone would be 1 in 70. A sawtooth with a fall in any block fails
either; one without is a rise while it was watched. What rose at first alone is a start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from waitbench.reporting.formats import format_values

BLOCKS = 12
_THIRD = BLOCKS // 3
_STILL = 0.25
"""The least part of a rise after its first half that is no start."""
_HOUR_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity that may rise."""

    title: str
    unit: str
    least: float
    """The least rise between thirds of the time that matters."""
    share: float = 0.0
    """The same as a share of the first readings."""


QUANTITIES = (
    Quantity(title="memory", unit="byte", least=2.0**18, share=0.005),
    Quantity(title="the number of threads", unit="", least=2),
    Quantity(title="the number of open files", unit="", least=2),
    Quantity(title="CPU in % of a core", unit="", least=0.01, share=0.1),
)


def rise_of(values: Sequence[float], quantity: Quantity) -> tuple[float, float, float] | None:
    """The rise of readings over their whole time, with its least and its most.

    ``None`` unless it is certain, and matters.
    """
    each = len(values) // BLOCKS
    if not each:
        return None
    blocks = [values[place * each : (place + 1) * each] for place in range(BLOCKS)]
    envelopes = [min(block) for block in blocks], [max(block) for block in blocks]
    rises = []
    for envelope in envelopes:
        first, middle, last = (
            envelope[place : place + _THIRD] for place in range(0, BLOCKS, _THIRD)
        )
        whole = median(last) - median(first)
        least = max(quantity.least, quantity.share * median(first))
        is_start = median(last) - median(middle) < _STILL * whole
        if min(last) <= max(first) or whole < least or is_start:
            return None
        rises += [
            (after - before) / (later + 2 * _THIRD - earlier) * BLOCKS
            for earlier, before in enumerate(first)
            for later, after in enumerate(last)
        ]
    return median(rises), min(rises), max(rises)


def sentences(readings: Sequence[Sequence[float | None]], seconds: float) -> list[str]:
    """Sentences about quantities that certainly rise, given the readings of each over a time."""
    texts = []
    for quantity, values in zip(QUANTITIES, readings, strict=True):
        known = [value for value in values if value is not None]
        rise = rise_of(known, quantity) if len(known) == len(values) else None
        if rise:
            hourly, *ends = format_values([it * _HOUR_S / seconds for it in rise], quantity.unit)
            texts.append(f"{quantity.title} rises by {hourly} an hour ({' to '.join(ends)}).")
    return texts
