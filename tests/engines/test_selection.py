"""Names, settings and files of the user -> scenarios."""

import pytest

from waitbench.engines import SCENARIOS, selection
from waitbench.engines.bytewax.scenarios import Dataflow
from waitbench.model.errors import UsageError
from waitbench.model.scenario import NEXT_AWAKE, Topology


def test_globs_select_and_settings_apply_where_they_exist() -> None:
    chosen = selection.select(["partitioned*", "dynamic"], ["interval=0.5", "partitions=4"])
    assert {s.parameters["interval"] for s in chosen} == {0.5}
    partitioned = [s for s in chosen if s.name.startswith("partitioned")]
    assert len(partitioned) > 1
    assert {s.parameters["partitions"] for s in partitioned} == {4}
    assert isinstance(partitioned[0], Dataflow)
    assert "partitions=4" in partitioned[0].import_string
    (other,) = (s for s in chosen if s not in partitioned)
    assert "partitions" not in other.parameters


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("partitions", "--set 'partitions' is not NAME=VALUE, such as --set interval=0.1"),
        ("partitions=0", "--set partitions=0: must be above zero and below 10⁹."),
        ("partitions=x", "--set partitions=x: a value is such as 16."),
        ("interval=nan", "--set interval=nan: must be above zero and below 10⁹."),
        ("long_input=2", "--set long_input=2: a value is such as False."),
        ("seed=2 seed=3", "--set seed is given twice: name it once"),
        ("nothing=1", "--set nothing: no selected scenario has this parameter. There are: burst, "),
    ],
)
def test_a_bad_setting_is_refused_with_what_would_be_right(settings: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        selection.select(["partitioned"], settings.split())
    assert str(raised.value).startswith(message)


def test_quick_shortens_every_scenario_but_those_for_large_changes_only_and_what_is_set() -> None:
    whole, quick = (selection.select(["*"], [], quick=flag) for flag in (False, True))
    assert [scenario.name for scenario in quick] == [scenario.name for scenario in SCENARIOS]
    for before, after in zip(whole, quick, strict=True):
        assert isinstance(after, Dataflow)
        assert after.expected_s <= before.expected_s, after.name
        assert after.expected_s < 25, after.name
        if after.large_changes_only:
            assert after == before, "its length is what it is about"
            continue
        given = {name for name, value in before.parameters.items() if value}
        assert {name for name, value in after.parameters.items() if value} == given, "0 is none"
        items, burst = (int(after.parameters[name]) for name in (after.counted_by, "burst"))
        assert items % burst == 0, "no burst is cut short"
    (set_,) = selection.select(["dynamic"], ["items_per_worker=77"], quick=True)
    assert set_.parameters["items_per_worker"] == 77
    by_name = {scenario.name: scenario.parameters for scenario in quick}
    assert by_name["dynamic-long-input"]["items_per_worker"] == 4
    assert by_name["dynamic-heavy-map"]["items_per_worker"] == 80, "in smaller pieces"
    assert by_name["partitioned-burst"]["interval"] == 1.25, "the silence before it, too"


def test_a_setting_asks_for_the_capability_that_it_takes() -> None:
    (burst,) = selection.select(["partitioned-burst"], [])
    (scheduled,) = selection.select(["partitioned-burst"], ["scheduled=true"])
    assert (burst.needs, scheduled.needs) == (frozenset(), frozenset({NEXT_AWAKE}))
    settings = ["scheduled=false", "interval=0.5"]
    (unscheduled,) = selection.select(["partitioned-scheduled"], settings)
    assert unscheduled.needs == frozenset()


def test_expected_items_follow_the_topology() -> None:
    partitioned, dynamic = selection.select(["partitioned", "dynamic"], [])
    assert partitioned.expected_items(Topology("launcher", 4)) == 320
    counts = [dynamic.expected_items(Topology("launcher", count)) for count in (1, 4, 16, 20)]
    assert counts == [20, 80, 320, 320]
    # Of partitions that are all silent none is expected.
    for silent in (5, 6):
        settings = [f"silent={silent}", "partitions=5"]
        (chosen,) = selection.select(["partitioned-ended"], settings)
        assert chosen.expected_items(Topology("single")) == 0


def test_the_gate_adds_scenarios_for_large_changes_only_to_the_default_ones() -> None:
    silence, launcher = (
        it for it in selection.select([], [], for_gate=True) if it.large_changes_only
    )
    assert (silence.name, launcher.name) == ("partitioned-silence", "partitioned-launcher")
    assert len(selection.select([], [], for_gate=True)) == 10
    assert len(selection.select(["dynamic"], [], for_gate=True)) == 1
    # A silence is long enough for what begins late.
    assert float(silence.parameters["idle"]) >= 6
    assert silence.topology_in(Topology("single")) == Topology("cluster", 2)
