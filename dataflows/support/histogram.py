"""A histogram of durations with a bounded relative error.

The buckets are log-linear, as in HdrHistogram (G. Tene, hdrhistogram.org). Each integer below 128
has a bucket; above, each power of two is divided into 64 buckets. A bucket is represented by its
middle, so values differ from recorded values by 0.8 % at most.
"""

from typing import Dict, List, Tuple

RELATIVE_ERROR = 1 / 128

_BITS = 6
_LINEAR = 2 << _BITS
"""Each smaller integer has a bucket."""


class Histogram:
    """Counts non-negative integers, such as nanoseconds. Only one thread may record values."""

    __slots__ = ("_counts", "maximum")

    def __init__(self) -> None:
        self._counts: Dict[int, int] = {}
        self.maximum = 0

    def record(self, value: int) -> None:
        """Counts one value. A value below zero counts as zero."""
        if value < _LINEAR:
            index = max(value, 0)
        else:
            shift = value.bit_length() - _BITS - 1
            index = (shift << _BITS) + (value >> shift)
        self._counts[index] = self._counts.get(index, 0) + 1
        self.maximum = max(self.maximum, value)

    def values(self) -> List[Tuple[int, int]]:
        """``(value, count)`` for each bucket that is not empty, in ascending order."""
        return [(_middle(index), count) for index, count in sorted(self._counts.items())]


def _middle(index: int) -> int:
    if index < _LINEAR:
        return index
    shift = (index >> _BITS) - 1
    low = ((index & ((1 << _BITS) - 1)) + (1 << _BITS)) << shift
    return low + (1 << shift) // 2
