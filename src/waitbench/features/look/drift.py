"""Finds quantities of a running process that keep rising, such as memory with a leak.

Readings are divided into twelve blocks of time. A quantity rises if the lowest readings of the last
four blocks are all above those of the first four, and so are the highest readings. Without a trend,
the first condition alone holds with a chance of 1 in 70. A sawtooth that falls in every block does
not meet both. A quantity that rose only in the beginning is still starting, and does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from waitbench.reporting.formats import format_values

BLOCKS = 12
_THIRD = BLOCKS // 3
_LEAST_IN_LAST_THIRD = 0.25
"""The least share of the rise in the last third; with less, the process was still starting."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity that may rise, and how large a rise matters."""

    title: str
    unit: str
    least: float
    """The smallest rise that matters, from the first third of the time to the last third."""
    share: float = 0.0
    """The same as a share of the first readings. The larger of both applies."""


QUANTITIES = (
    Quantity(title="memory", unit="byte", least=2.0**18, share=0.005),
    Quantity(title="the number of threads", unit="", least=2),
    Quantity(title="the number of open files", unit="", least=2),
    Quantity(title="CPU in % of a core", unit="", least=0.01, share=0.1),
)


def rise_of(values: Sequence[float], quantity: Quantity) -> tuple[float, float, float] | None:
    """The rise over the whole time, with its lower and upper estimate.

    ``None`` unless the rise is certain and large enough to matter.
    """
    size = len(values) // BLOCKS
    if not size:
        return None
    blocks = [values[start : start + size] for start in range(0, BLOCKS * size, size)]
    envelopes = [min(block) for block in blocks], [max(block) for block in blocks]
    rises = []
    for envelope in envelopes:
        first, middle, last = (
            envelope[place : place + _THIRD] for place in range(0, BLOCKS, _THIRD)
        )
        whole = median(last) - median(first)
        least = max(quantity.least, quantity.share * median(first))
        is_starting = median(last) - median(middle) < _LEAST_IN_LAST_THIRD * whole
        if min(last) <= max(first) or whole < least or is_starting:
            return None
        rises += [
            (after - before) / (later + 2 * _THIRD - earlier) * BLOCKS
            for earlier, before in enumerate(first)
            for later, after in enumerate(last)
        ]
    return median(rises), min(rises), max(rises)


def sentences(readings: Sequence[Sequence[float | None]], seconds: float) -> list[str]:
    """Sentences on ``QUANTITIES`` that certainly rise, from equally many readings of each."""
    texts = []
    for quantity, values in zip(QUANTITIES, readings, strict=True):
        known = [value for value in values if value is not None]
        rise = rise_of(known, quantity) if len(known) == len(values) else None
        if rise:
            hourly, *ends = format_values([it * 3600 / seconds for it in rise], quantity.unit)
            texts.append(f"{quantity.title} rises by {hourly} an hour ({' to '.join(ends)}).")
    return texts
