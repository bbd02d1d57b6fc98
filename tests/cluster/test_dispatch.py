"""Who does which unit next."""

from waitbench.cluster import MOST_ATTEMPTS, Machine, Unit
from waitbench.cluster.on_dask import Dispatch


def machine(name: str) -> Machine:
    return Machine(
        name=name, address=f"tcp://{name}", version="1", host=name, instruments=frozenset()
    )


EAST, WEST = machine("east"), machine("west")
LONG, SHORT, LAST = (Unit(name=name, order="") for name in ("long", "short", "last"))


def begun(dispatch: Dispatch, *machines: Machine) -> list[tuple[str, str]]:
    return [(unit.name, one.name) for unit, one in dispatch.next_for(machines)]


def test_each_free_machine_gets_the_next_unit_and_a_busy_one_none() -> None:
    dispatch = Dispatch([LONG, SHORT, LAST])
    assert begun(dispatch, EAST, WEST) == [("long", "east"), ("short", "west")]
    assert begun(dispatch, EAST, WEST) == []
    dispatch.finished(SHORT)
    assert begun(dispatch, EAST, WEST) == [("last", "west")]
    for unit in (LONG, LAST):
        dispatch.finished(unit)
    assert dispatch.is_over
    assert dispatch.failures == {}


def test_what_was_lost_is_begun_anew_before_all_else() -> None:
    dispatch = Dispatch([LONG, SHORT])
    assert begun(dispatch, EAST) == [("long", "east")]
    dispatch.lost(LONG)
    assert begun(dispatch, WEST) == [("long", "west")]


def test_a_unit_that_loses_every_machine_is_given_up() -> None:
    dispatch = Dispatch([LONG])
    for _ in range(MOST_ATTEMPTS):
        assert begun(dispatch, EAST) == [("long", "east")]
        dispatch.lost(LONG)
    assert dispatch.is_over
    assert "lost" in dispatch.failures["long"]


def test_what_a_machine_cannot_do_is_tried_on_the_others_and_not_there_again() -> None:
    dispatch = Dispatch([LONG])
    assert begun(dispatch, EAST) == [("long", "east")]
    dispatch.refused(LONG, "no such Python")
    assert begun(dispatch, EAST) == []
    assert dispatch.is_stuck([EAST])
    assert not dispatch.is_stuck([EAST, WEST])
    assert begun(dispatch, EAST, WEST) == [("long", "west")]


def test_what_nobody_can_do_fails_with_what_each_said() -> None:
    dispatch = Dispatch([LONG])
    for one in (EAST, WEST):
        begun(dispatch, one)
        dispatch.refused(LONG, f"not here in the {one.name}")
    dispatch.give_up()
    assert dispatch.is_over
    assert dispatch.failures == {"long": "east: not here in the east; west: not here in the west"}


def test_a_unit_of_one_machine_is_done_by_no_other() -> None:
    dispatch = Dispatch([Unit(name="long", order="", machine="west")])
    assert begun(dispatch, EAST) == []
    assert dispatch.is_stuck([EAST])
    assert begun(dispatch, EAST, WEST) == [("long", "west")]
    dispatch.lost(Unit(name="long", order="", machine="west"))
    dispatch.give_up()
    assert dispatch.failures == {"long": "there is no node west"}


def test_what_a_machine_lacks_for_everything_refuses_all_its_units_at_once() -> None:
    dispatch = Dispatch([LONG, SHORT, LAST])
    assert begun(dispatch, EAST) == [("long", "east")]
    dispatch.refused(LONG, "no hyperfine", everything=True)
    assert begun(dispatch, EAST) == []
    assert begun(dispatch, WEST) == [("short", "west")]
    dispatch.refused(SHORT, "no hyperfine", everything=True)
    assert dispatch.is_stuck([EAST, WEST])
    dispatch.give_up()
    assert set(dispatch.failures.values()) == {"east: no hyperfine; west: no hyperfine"}
    assert set(dispatch.failures) == {"long", "short", "last"}
