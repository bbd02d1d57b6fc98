"""Shares of the scenarios of a comparison."""

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.share import Shard

FOUR = {"a": 1.0, "b": 6.0, "c": 2.0, "d": 5.0}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_scenario_is_in_exactly_one_share(number: int) -> None:
    shares = [Shard(index=one, number=number).of(FOUR) for one in range(1, number + 1)]
    assert sorted(name for share in shares for name in share.scenarios) == list(FOUR)
    assert all(share.scenarios and share.of == tuple(FOUR) for share in shares)
    assert [share.is_whole for share in shares] == [number == 1] * number


def test_shares_take_about_equally_long_and_keep_the_order_of_the_comparison() -> None:
    shares = [Shard(index=one, number=2).of(FOUR).scenarios for one in (1, 2)]
    assert shares == [("a", "b"), ("c", "d")]


def test_scenarios_that_take_as_long_are_dealt_in_turn() -> None:
    alike = dict.fromkeys("abcde", 1.0)
    shares = [Shard(index=one, number=2).of(alike).scenarios for one in (1, 2)]
    assert shares == [("a", "c", "e"), ("b", "d")]
    nothing = dict.fromkeys("abc", 0.0)
    assert [Shard(index=one, number=3).of(nothing).scenarios for one in (1, 2, 3)] == [
        ("a",), ("b",), ("c",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["", "1", "1/", "/3", "a/3", "1/3/4", "-1/3", "1.0/3", "1/٣"], "such as 1/3"),
        (["0/3", "4/3", "1/0"], "from 1 to the second"),
    ],
)
def test_what_is_not_a_share_is_refused_with_an_example(texts: list[str], says: str) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=says):
            Shard.parse(text)


def test_more_shares_than_scenarios_are_refused() -> None:
    assert Shard.parse(" 2/4 ") == Shard(index=2, number=4)
    assert Shard.parse("2/4").of(FOUR).title == "Share 2 of 4"
    with pytest.raises(UsageError, match=r"--shard 1/5: there are only 4 scenarios"):
        Shard.parse("1/5").of(FOUR)
