"""What is typed behind --scan -> a parameter and its values."""

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.scan import Scan


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
    assert [type(one) for one in scan.values] == [type(one) for one in values]


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


def test_a_value_of_a_topology_is_no_setting() -> None:
    assert Scan.parse("partitions=1:8").settings(4) == ("partitions=4",)
    assert Scan.parse("processes=1:8").settings(4) == ()
