"""Arguments of --scan: values of a parameter -> a scenario for each."""

from typing import Any

import pytest

from tests import standin
from waitbench import engines
from waitbench.features.scan.extension import Scan, ScanExtension
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Scenario
from waitbench.pipeline.request import Request, _scenarios


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


def scenarios(scan: str, **request: Any) -> tuple[Scenario, ...]:
    return _scenarios(Request(revisions=(), argv=(), extensions=(ScanExtension(scan),), **request))


@pytest.mark.parametrize(
    ("text", "request_", "says"),
    [
        ("partitions", {}, "is not NAME=VALUES, such as --scan partitions=1:4096"),
        ("partitions=1:2", {}, "has 2 values: a curve takes 3 to 64"),
        ("partitions=0:8", {}, "the first value must be above zero"),
        ("partitions=8:1", {}, "below the last"),
        ("partitions=1,two,3", {}, "'two' is not a number above zero"),
        ("partitions=1,2,2", {}, "names a value twice"),
        ("processes=1,1.5,3", {}, "processes are whole numbers"),
        ("n=1:4", {}, "--set n: no selected scenario has this parameter"),
        ("partitions=1:4", {"settings": ("partitions=2",)}, "--set partitions is given twice"),
    ],
)
def test_what_is_no_curve_is_refused_with_an_example(
    text: str, request_: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError) as raised:
        scenarios(text, **request_)
    assert says in str(raised.value)


@pytest.mark.parametrize("names", [(), ("partitioned-idle",), ("partitioned-idle", "dynamic-idle")])
def test_a_scan_makes_a_scenario_of_each_value_where_there_is_such_a_parameter(
    names: tuple[str, ...],
) -> None:
    """Without a name, of what waits for nothing."""
    chosen = scenarios("partitions=1:8", scenarios=names, settings=("idle=2",))
    assert [it.name for it in chosen] == [
        f"partitioned-idle@partitions={value}" for value in (1, 2, 4, 8)
    ]
    assert {it.parameters["idle"] for it in chosen} == {2.0}
    assert [it.scan and it.scan.value for it in chosen] == [1, 2, 4, 8]
    assert {it.scan and it.scan.scenario for it in chosen} == {"partitioned-idle"}


def test_processes_are_scanned_by_the_topology() -> None:
    chosen = scenarios("processes=1:4")
    assert [str(it.topology) for it in chosen] == [
        "single", "cluster, 2 processes", "cluster, 4 processes",
    ]  # fmt: skip
    assert len({str(it.parameters) for it in chosen}) == 1, "processes are no parameter"


def test_processes_are_refused_by_an_engine_without_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "DEFAULT", standin.StandIn())
    with pytest.raises(
        UsageError, match=r"--topology 'cluster' is not a topology of .*There are: single"
    ):
        scenarios("processes=1:4")
