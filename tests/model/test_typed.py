"""Arguments of --scan and --shard: values of a parameter, and shares of scenarios."""

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.scan import Scan
from waitbench.model.shard import Shard

FOUR = {"a": 1.0, "b": 6.0, "c": 2.0, "d": 5.0}


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [
        # About equally long, and in the order of the comparison.
        (FOUR, [("a", "b"), ("c", "d")]),
        # Those that take as long are dealt in turn.
        (dict.fromkeys("abcde", 1.0), [("a", "c", "e"), ("b", "d")]),
        (dict.fromkeys("abc", 0.0), [("a",), ("b",), ("c",)]),
    ],
)
def test_shares_take_about_equally_long(
    lengths: dict[str, float], shares: list[tuple[str, ...]]
) -> None:
    number = len(shares)
    dealt = [Shard(index=index, number=number).dealt(lengths) for index in range(1, number + 1)]
    assert [share.scenarios for share in dealt] == shares


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
    assert Shard.parse("2/4").dealt(FOUR).title == "Share 2 of 4"
    with pytest.raises(UsageError, match=r"--shard 1/5: there are only 4 scenarios"):
        Shard.parse("1/5").dealt(FOUR)


@pytest.mark.parametrize(
    ("text", "parameter", "values"),
    [
        ("partitions=1:8", "partitions", (1, 2, 4, 8)),
        ("partitions=1:100", "partitions", (1, 2, 4, 8, 16, 32, 64, 100)),
        ("partitions=3:20", "partitions", (3, 6, 12, 20)),
        ("interval=0.5,0.25,4", "interval", (0.25, 0.5, 4)),
    ],
)
def test_a_range_is_doubled_and_ends_with_its_end_and_a_list_is_sorted(
    text: str, parameter: str, values: tuple[float, ...]
) -> None:
    scan = Scan.parse(text)
    assert (scan.parameter, scan.values) == (parameter, values)
    assert [type(value) for value in scan.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("partitions", "is not NAME=VALUES, such as --scan partitions=1:4096"),
        ("partitions=1:2", "has 2 values: a curve takes 3 to 64"),
        ("partitions=0:8", "the first value must be above zero"),
        ("partitions=8:1", "below the last"),
        ("partitions=1,two,3", "'two' is not a number above zero"),
        ("partitions=1,2,2", "names a value twice"),
        ("processes=1,1.5,3", "processes are whole numbers"),
    ],
)
def test_what_is_no_curve_is_refused_with_an_example(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        Scan.parse(text)
    assert says in str(raised.value)
