"""Sittings that share revisions, joined: ratios to the anchor, their intervals, what differs."""

import math
from statistics import fmean

import msgspec
import pytest

from tests.analysis.made_sittings import between_of, join, made
from waitbench.analysis.network import Between, connected
from waitbench.analysis.sittings import sitting
from waitbench.analysis.statistics import geometric_mean

A, B, C, D = ({name: log} for name, log in zip("abcd", (0.0, 0.1, 0.3, -0.2), strict=True))
NONE = Between(0.0, 10)


def test_a_ratio_goes_over_what_two_sittings_share() -> None:
    network = join([made("1", A | B, drift=1.0), made("2", B | C, drift=-2.0)], "a", NONE)
    assert network.ratio("c").value == pytest.approx(math.exp(0.3))
    assert network.ratio("c", "b").value == pytest.approx(math.exp(0.2))
    assert network.ratio("a") == network.ratio("a", "a")
    assert network.ratio("a").low == network.ratio("a").high == 1.0


def test_of_one_sitting_it_is_the_paired_estimate_and_its_interval() -> None:
    rounds = [(0.0, 0.11), (0.5, 0.62), (0.2, 0.27), (0.1, 0.23)]
    one = sitting("1", "m", "ab", rounds)
    assert one is not None
    paired = geometric_mean([b - a for a, b in rounds])
    found = join([one], "a", NONE).ratio("b")
    assert (found.value, found.low, found.high) == pytest.approx(
        (paired.value, paired.low, paired.high)
    )


def test_sittings_count_by_how_much_they_know() -> None:
    few = made("1", {"a": 0.0, "b": 0.4}, rounds=3, noise=0.1)
    many = made("2", {"a": 0.0, "b": 0.1}, rounds=300, noise=0.1)
    assert join([few, many], "a", NONE).ratio("b").value == pytest.approx(math.exp(0.1), abs=0.02)
    # Where sittings differ by much more than runs do, both are one opinion.
    apart = join([few, many], "a", Between(1.0, 10)).ratio("b").value
    assert apart == pytest.approx(math.exp(0.25), abs=0.08)


def test_what_is_not_joined_with_the_anchor_is_left_out() -> None:
    sittings = [made("1", A | B), made("2", C | D)]
    assert [len(group.sittings) for group in connected(sittings)] == [1, 1]
    network = join(sittings, "a", NONE)
    assert network.revisions == ("a", "b")
    with pytest.raises(ValueError, match="not in"):
        network.ratio("c")
    with pytest.raises(ValueError, match="no sitting holds z"):
        join(sittings, "z", NONE)
    bridged = [*sittings, made("3", B | C)]
    assert join(bridged, "d", NONE).anchor == "d"
    assert join(bridged, "d", NONE).ratio("a").value == pytest.approx(math.exp(0.2))


def test_a_sitting_that_compares_nothing_is_none() -> None:
    assert sitting("1", "m", "ab", [(0.0, 1.0)]) is None
    assert sitting("1", "m", "a", [(0.0,), (1.0,)]) is None


def test_counts_that_are_equal_in_all_rounds_have_an_interval() -> None:
    found = join([made("1", A | B, noise=0.0)], "a", NONE).ratio("b")
    assert found.low is not None and found.high is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize("between", [0.0, 0.02, 0.1])
def test_what_differs_from_sitting_to_sitting_is_found(between: float) -> None:
    sittings = [
        made(f"{number}", A | B | C, rounds=8, noise=0.05, between=between) for number in range(400)
    ]
    found = between_of([sittings])
    assert found.freedom > 2 * 399
    # Each revision is off by itself, so a ratio by twice the variance.
    assert math.sqrt(found.variance / 2) == pytest.approx(between, rel=0.15, abs=0.006)


def test_as_long_as_nothing_contradicts_anything_it_is_assumed() -> None:
    tree = [made("1", A | B), made("2", B | C)]
    assert between_of([tree]) == between_of([])
    assert math.sqrt(between_of([]).variance) == pytest.approx(0.03)
    # A second scenario tells it for both.
    known = between_of([tree, [made("3", A | B), made("4", A | B)]])
    assert known.freedom == between_of([]).freedom + 1
    assert known.variance < between_of([]).variance


def test_sittings_that_agree_too_well_or_not_at_all_have_a_variance() -> None:
    agreeing = [msgspec.structs.replace(made("1", A | B), squares=1.0)] * 20_000
    assert 0 < between_of([agreeing]).variance < 1e-6
    apart = [made("1", {"a": 0.0, "b": 90.0}), made("2", {"a": 0.0, "b": -90.0})]
    assert between_of([apart]).variance == pytest.approx(4)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = []
    for trial in range(400):
        sittings = [
            made(f"{trial} {number}", pair, noise=0.06, between=0.03, drift=number)
            for number, pair in enumerate((A | B, A | B, B | C, A | C, C | D, A | D))
        ]
        found = join(sittings, "a", between_of([sittings])).ratio("d")
        assert found.low is not None and found.high is not None
        held.append(found.low <= math.exp(-0.2) <= found.high)
    assert 0.92 <= fmean(held) <= 0.99
