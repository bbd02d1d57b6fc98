"""What well-known libraries find in a series of logarithms: the first value of each new level."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise

import numpy

from benchmarks.simulation import Logs

Find = Callable[[Logs, float], list[int]]
"""Takes a series, and the least difference of two levels that counts."""
_NORMAL = 1.4826
"""From the median absolute deviation of normal noise to its standard deviation."""


def by_asv(series: Logs, least: float) -> list[int]:
    """asv's step detection, as its ``publish`` calls it."""
    from asv.step_detect import detect_steps

    levels = [(begin, value) for begin, _, value, _, _ in detect_steps(series.tolist())]
    return _apart(levels, least)


def by_ruptures(series: Logs, least: float) -> list[int]:
    """PELT with the mean of each level (R. Killick, P. Fearnhead and I. Eckley, JASA 107, 2012)."""
    import ruptures

    differences = numpy.diff(series)
    noise = _NORMAL * float(numpy.median(numpy.abs(differences))) / math.sqrt(2)
    penalty = 3 * noise**2 * math.log(len(series))
    search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(series.reshape(-1, 1))
    begins = [0, *search.predict(pen=penalty)[:-1]]
    ends = [*begins[1:], len(series)]
    levels = [
        (begin, float(series[begin:end].mean())) for begin, end in zip(begins, ends, strict=True)
    ]
    return _apart(levels, least)


def _apart(levels: Sequence[tuple[int, float]], least: float) -> list[int]:
    return [
        begin for (_, before), (begin, after) in pairwise(levels) if abs(after - before) > least
    ]


AVAILABLE: Mapping[str, Find] = {
    name: find
    for name, find in {"asv": by_asv, "ruptures": by_ruptures}.items()
    if find_spec(name) is not None
}
"""Those that this virtualenv has."""
