"""What a comparison takes over from the interrupted one that it goes on with."""

from dataclasses import replace

import pytest

from tests.records import make_record, outcome, times
from waitbench.cli.resuming import go_on
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED, FAILED, NOT_BUILT, TIMED_OUT

SAME = [times(1, 1, 1)] * 3


@pytest.fixture
def anew() -> Record:
    return make_record({"a": [], "b": []})


def test_half_a_round_is_measured_anew(anew: Record) -> None:
    go_on(anew, make_record({"a": SAME, "b": SAME[:2]}))
    assert [(run.label, run.round) for run in anew.measurements] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip


def test_what_failed_before_stays_failed_but_is_tried_again(anew: Record) -> None:
    earlier = make_record({"a": SAME, "b": SAME[:2]})
    earlier.add(outcome("b", 3, TIMED_OUT))
    earlier.add(outcome("b", 1, DISTURBED))
    go_on(anew, earlier)
    assert len(anew.of("a")) == 3
    assert anew.outcomes == earlier.outcomes
    assert anew.why_given_up("b") is None
    anew.add(outcome("b", 4, TIMED_OUT))
    assert anew.why_given_up("b") is not None


def test_what_could_not_be_built_before_and_is_built_now_is_measured(anew: Record) -> None:
    earlier = make_record({"a": SAME, "b": []})
    earlier.add(outcome("b", 0, NOT_BUILT))
    go_on(anew, earlier)
    assert anew.outcomes == []


def test_another_comparison_is_not_gone_on_with(anew: Record) -> None:
    with pytest.raises(UsageError, match="another comparison"):
        go_on(anew, make_record({"a": SAME, "b": SAME}, topology="cluster"))
    earlier = replace(make_record({"a": SAME, "b": SAME}), parameters={"partitions": 3})
    earlier.add(outcome("a", 1, FAILED))
    with pytest.raises(UsageError, match="another comparison"):
        go_on(anew, earlier)


def test_what_another_machine_measured_is_not_gone_on_with(anew: Record) -> None:
    earlier = make_record({"a": SAME, "b": SAME})
    there = {"fingerprint": "elsewhere"}
    here = replace(
        anew, context=replace(anew.context, machine={"fingerprint": "here"}), measurements=[]
    )
    for foreign in (
        replace(earlier, machine=there),  # since it was merged
        replace(earlier, context=replace(earlier.context, machine=there)),
    ):
        with pytest.raises(UsageError, match="another machine"):
            go_on(here, foreign)
    go_on(here, replace(earlier, machine=here.context.machine))
    assert len(here.measurements) == 6
    go_on(anew, earlier)
    assert len(anew.measurements) == 6, "earlier files do not tell machines apart"
