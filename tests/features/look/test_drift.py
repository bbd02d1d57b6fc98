"""Rises of quantities that are made up, over readings at random moments of ten minutes."""

from collections.abc import Iterable
from itertools import accumulate

import numpy as np
import pytest
from numpy.typing import NDArray

from waitbench.features.look.drift import QUANTITIES, Quantity, rise_of, sentences

SECONDS, READINGS = 600.0, 60
TIMES = (np.arange(READINGS) + np.random.default_rng(1).random(READINGS)) * SECONDS / READINGS
MEMORY, THREADS, FILES, CPU = QUANTITIES
MIB = 2.0**20


def sawtooth(low: float, high: float, period_s: float, phase: float) -> NDArray[np.float64]:
    return low + (high - low) * ((TIMES / period_s + phase) % 1.0)


def rises(values: Iterable[float], of: Quantity = MEMORY) -> bool:
    return rise_of(list(values), of) is not None


@pytest.mark.parametrize("seed", range(20))
def test_fifty_mebibytes_an_hour_are_found_among_collections_of_garbage(seed: int) -> None:
    random = np.random.default_rng(seed)
    leak = 50 * MIB * TIMES / 3600
    values = 80 * MIB + leak + random.uniform(0, 1.0, READINGS) * MIB
    hourly, least, most = (it * 6 for it in rise_of(list(values), MEMORY) or (0, 0, 0))
    assert least < 50 * MIB < most
    assert hourly == pytest.approx(50 * MIB, rel=0.15)


def test_no_sawtooth_that_falls_while_it_is_watched_is_a_rise() -> None:
    random = np.random.default_rng(1)
    found = [
        (period, phase)
        for period in np.geomspace(7, 580, 40)
        for phase in random.random(25)
        if rises(sawtooth(14 * MIB, 76 * MIB, period, phase) + random.normal(0, MIB, READINGS))
        and np.floor(TIMES[-1] / period + phase) > 0
    ]
    assert found == []


def test_a_plateau_after_a_start_and_a_fall_are_no_rise() -> None:
    start = 80 * MIB * (1 - np.exp(-TIMES / 60))
    assert not rises(start)
    assert not rises(100 * MIB - 50 * MIB * TIMES / 600)
    assert not rises([80 * MIB] * READINGS)


def test_noise_is_hardly_ever_a_rise() -> None:
    random = np.random.default_rng(1)
    noise = 1 + random.exponential(1.0, (4000, READINGS))
    assert sum(rises(values, CPU) for values in noise) <= 4


def test_a_rise_that_does_not_matter_is_none() -> None:
    assert not rises(80 * MIB + 0.1 * MIB * TIMES / 600)
    assert not rises([5] * 30 + [6] * 30, THREADS)
    assert rises(accumulate([1] * READINGS), THREADS)


def test_a_rise_is_a_sentence_with_its_range_an_hour() -> None:
    steady = [7.0] * READINGS
    memory = [80 * MIB + 50 * MIB * it / 360 for it in range(READINGS)]
    (text,) = sentences([memory, steady, [None, *steady[1:]], steady], SECONDS)
    assert text == "memory rises by 50.0 MiB an hour (50.0 MiB to 50.0 MiB)."
    assert sentences([steady[:5]] * 4, SECONDS) == []
