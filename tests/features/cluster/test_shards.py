"""Arguments of --shard: shards of scenarios."""

import pytest

from waitbench.features.cluster.shards import deal, parse
from waitbench.model.errors import UsageError

FOUR = {"a": 1.0, "b": 6.0, "c": 2.0, "d": 5.0}


@pytest.mark.parametrize(
    ("lengths", "shards"),
    [
        # About equally long, and in the order of the comparison.
        (FOUR, [("a", "b"), ("c", "d")]),
        # Those that take as long are dealt in turn.
        (dict.fromkeys("abcde", 1.0), [("a", "c", "e"), ("b", "d")]),
        (dict.fromkeys("abc", 0.0), [("a",), ("b",), ("c",)]),
    ],
)
def test_shards_take_about_equally_long(
    lengths: dict[str, float], shards: list[tuple[str, ...]]
) -> None:
    number = len(shards)
    dealt = [deal(index, number, lengths) for index in range(1, number + 1)]
    assert [shard.scenarios for shard in dealt] == shards


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["", "1", "1/", "/3", "a/3", "1/3/4", "-1/3", "1.0/3", "1/٣"], "such as 1/3"),
        (["0/3", "4/3", "1/0"], "from 1 to the second"),
    ],
)
def test_what_is_not_a_shard_is_refused_with_an_example(texts: list[str], says: str) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=says):
            parse(text)


def test_more_shards_than_scenarios_are_refused() -> None:
    assert parse(" 2/4 ") == (2, 4)
    with pytest.raises(UsageError, match=r"--shard 1/5: there are only 4 scenarios"):
        deal(1, 5, FOUR)
