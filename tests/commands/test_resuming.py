"""What a comparison takes over from the interrupted one that it goes on with."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.records import make_record, measurement, outcome, times
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.run import DISTURBED, FAILED, NOT_BUILT, REPEATED, TIMED_OUT, WARM_UP
from waitbench.pipeline.preparation import Prepared
from waitbench.pipeline.resuming import begin_records, go_on, require_same
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents

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
    set_aside = go_on(anew, earlier)
    assert [(one.label, one.round, one.reason) for one in set_aside] == [("a", 3, REPEATED)]
    assert [run.round for run in anew.of("a")] == [1, 2]
    assert anew.outcomes == [*earlier.outcomes, *set_aside]
    assert (anew.why_given_up("b"), anew.awaits_repeats) == (None, frozenset({3}))
    assert [one.label for one in anew.failures] == ["b"]
    anew.add(measurement("a", 3, SAME[0]))
    anew.add(measurement("b", 3, SAME[0]))
    assert (anew.failures, anew.awaits_repeats) == ([], frozenset())


def test_an_interruption_within_the_new_round_leaves_no_round_of_two_days(
    anew: Record, tmp_path: Path
) -> None:
    earlier = make_record({"a": SAME, "b": SAME[:2]})
    comparisons.begin(tmp_path, earlier.context)
    comparisons.finish(tmp_path, [earlier])
    prepared = cast(Prepared, SimpleNamespace(new_records=lambda: {"waiting": anew}))
    (record,) = begin_records(prepared, tmp_path, {}, print, resume=True).values()
    tomorrow = replace(measurement("b", 3, SAME[0]), started_at="2026-01-02T00:00:00+00:00")
    comparisons.append(tmp_path, record, tomorrow)
    (left,) = comparisons.resume(tmp_path).records
    assert [left.is_whole(number) for number in (1, 2, 3)] == [True, True, False]


def test_what_fails_again_is_not_waited_for(anew: Record) -> None:
    earlier = make_record({"a": SAME, "b": SAME[:2]})
    earlier.add(outcome("b", 3, FAILED))
    go_on(anew, earlier)
    anew.add(outcome("b", 3, FAILED))
    assert (len(anew.failures), anew.awaits_repeats) == (2, frozenset())


def test_a_warm_up_that_failed_is_that_of_the_session_before(anew: Record) -> None:
    earlier = make_record({"a": SAME, "b": SAME})
    earlier.add(outcome("b", WARM_UP, FAILED, message="boom", log="last words"))
    (set_aside,) = go_on(anew, earlier)
    assert (set_aside.reason, set_aside.message, set_aside.log) == (
        REPEATED, "failed: boom", "last words"
    )  # fmt: skip
    assert (anew.failures, len(anew.measurements)) == ([], 6)


SETTINGS: dict[str, object] = {
    "scenarios": ["one", "two"],
    "parameters": {"one": {"items": 5}, "two": {}},
    "instruments": [],
    "rounds": None,
    "gate": {
        "criteria": [{"criterion": "cpu:5%", "scenarios": "every"}],
        "left_out": [],
        "max_rounds": 30,
        "budget_s": 600.0,
        "full": False,
    },
}


def gate(**changes: object) -> dict[str, object]:
    known = SETTINGS["gate"]
    assert isinstance(known, dict)
    return {"gate": {**known, **changes}}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scenarios": ["one"]}, r"other scenarios \(one, two; now one\).*Repeat --scenario"),
        ({"parameters": {"one": {"items": 6}, "two": {}}}, "Repeat --set"),
        ({"instruments": ["system_calls"]}, "Repeat BENCH_INSTRUMENTS as it was"),
        ({"share": {"index": 1}}, "Repeat --shard"),
        ({"gate": None}, r"other criteria \(cpu:5%; now none\).*Repeat --gate and --fail-on"),
        (gate(criteria=[{"criterion": "cpu:9%", "scenarios": "every"}]), "now cpu:9%"),
        (gate(full=True), "Repeat --full"),
        (gate(max_rounds=60, budget_s=9.0), None),
        ({"rounds": 20, "time_limit_s": 5}, None),
    ],
)
def test_a_resume_asks_what_was_asked_before(
    changes: dict[str, object], says: str | None, tmp_path: Path
) -> None:
    contents = Contents(folder=tmp_path, settings=SETTINGS)
    now = {**SETTINGS, **changes}
    if says is None:
        require_same(contents, now)
        return
    with pytest.raises(UsageError, match=says):
        require_same(contents, now)
    if "gate" not in changes or changes["gate"] is None:
        with pytest.raises(UsageError):
            require_same(replace(contents, settings=now), SETTINGS)


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
