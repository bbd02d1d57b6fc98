"""Carrying out a plan: repeated rounds, revisions that are given up, a budget that runs out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tests.records import context, measurement, outcome, times
from waitbench.execution import plan, session
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.record import GIVE_UP_AFTER, GIVE_UP_LATER_AFTER, Record
from waitbench.model.run import (
    DISTURBED,
    FAILED,
    NOT_SUPPORTED,
    TIMED_OUT,
    PlannedRun,
    Result,
)
from waitbench.model.scenario import Family, Scenario

LASTS_S = 10.0
FAMILY = Family(name="made-up", items=lambda *_: None, lasts_s=lambda _parameters: LASTS_S)
Behaviour = Callable[[PlannedRun, int], Result]
"""What comes of a run: it is told the run, and how often the same was made before."""


def scenario(name: str) -> Scenario:
    return Scenario(name=name, purpose="", family=FAMILY, module=Path("flow.py"))


def good(planned: PlannedRun, _before: int = 0) -> Result:
    return measurement(planned.label, planned.round, times(1, 1, 0), position=planned.position)


def disturbed(planned: PlannedRun) -> Result:
    metrics = {**times(1, 1, 0), "machine_foreign_cpu": 0.7, "machine_steal": 0.1}
    return measurement(planned.label, planned.round, metrics, marks=(DISTURBED,))


def failing(reason: str) -> Behaviour:
    return lambda planned, _before: outcome(planned.label, planned.round, reason)


@dataclass
class Made:
    """A measurer that measures nothing, and an observer that writes down what it is told."""

    behave: Behaviour = good
    clock: Callable[[], None] = lambda: None
    runs: list[tuple[str, int, str]] = field(default_factory=list)
    said: list[tuple[str, Any]] = field(default_factory=list)

    def measure(self, planned: PlannedRun) -> Result:
        made = (planned.scenario.name, planned.round, planned.label)
        self.clock()
        self.runs.append(made)
        return self.behave(planned, self.runs.count(made) - 1)

    def extend(self, runs: Sequence[PlannedRun]) -> None:
        self.said.append(("extend", len(runs)))

    def begin(self, planned: PlannedRun) -> None:
        self.said.append(("begin", planned.label))

    def end(self, planned: PlannedRun, _result: Result) -> None:
        self.said.append(("end", planned.label))

    def skip(self, planned: PlannedRun) -> None:
        self.said.append(("skip", planned.label))

    def keep(self, record: Record, result: Result) -> None:
        self.said.append(("keep", (record.scenario, result)))

    def complete(self, record: Record) -> None:
        self.said.append(("complete", record.scenario))

    def told(self, what: str) -> list[Any]:
        return [value for name, value in self.said if name == what]


def make_session(made: Made, *names: str) -> tuple[Session, list[Scenario], dict[str, Record]]:
    records = {
        name: Record(scenario=name, family="made-up", parameters={}, context=context(["a", "b"]))
        for name in names
    }
    chosen = [scenario(name) for name in names]
    return Session(cast(Measurer, made), records, made), chosen, records


def carry_out(made: Made, rounds: int, *names: str) -> dict[str, Record]:
    at_work, chosen, records = make_session(made, *names)
    at_work.carry_out(plan.schedule(chosen, ["a", "b"], rounds))
    return records


def test_every_run_is_kept_before_the_next_begins_but_for_the_warm_up() -> None:
    made = Made()
    records = carry_out(made, 2, "one")
    assert [run.round for run in records["one"].measurements] == [1, 1, 2, 2]
    events = [name for name, _ in made.said if name in ("begin", "keep", "end")]
    warm_up, run = ["begin", "end"], ["begin", "keep", "end"]
    assert events == 2 * warm_up + 4 * run


def test_a_scenario_is_complete_before_the_next_one_begins() -> None:
    made = Made()
    carry_out(made, 1, "one", "two")
    assert made.told("complete") == ["one", "two"]
    order = [made.said.index(("complete", name)) for name in ("one", "two")]
    kept = [place for place, (name, _) in enumerate(made.said) if name == "keep"]
    assert kept[1] < order[0] < kept[2]


def test_a_disturbed_round_is_repeated_whole_and_its_runs_are_set_aside() -> None:
    def disturb_once(planned: PlannedRun, before: int) -> Result:
        disturbs = planned.round == 1 and planned.label == "a" and before == 0
        return disturbed(planned) if disturbs else plain(planned)

    def plain(planned: PlannedRun) -> Result:
        metrics = {**times(1, 1, 0), "machine_foreign_cpu": 0.0, "machine_steal": 0.0}
        return measurement(planned.label, planned.round, metrics)

    made = Made(disturb_once)
    record = carry_out(made, 2, "one")["one"]
    assert made.runs.count(("one", 1, "a")) == made.runs.count(("one", 1, "b")) == 2
    assert made.runs.count(("one", 2, "a")) == 1
    assert sorted((run.label, run.round) for run in record.measurements) == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip
    assert [(o.label, o.reason) for o in record.outcomes] == [("b", DISTURBED), ("a", DISTURBED)]
    assert "0.80 s of CPU" in record.outcomes[1].message
    # What was kept of the disturbed runs is taken back on disk, too.
    kept = [result for _, result in made.told("keep")]
    assert [result for result in kept if result in record.outcomes] == record.outcomes


def test_the_last_attempt_of_a_round_counts_with_its_mark() -> None:
    made = Made(lambda planned, _before: disturbed(planned))
    record = carry_out(made, 1, "one")["one"]
    assert made.runs.count(("one", 1, "a")) == 1 + session.MOST_REPEATS
    assert [run.marks for run in record.measurements] == [(DISTURBED,), (DISTURBED,)]
    assert len(record.outcomes) == 2 * session.MOST_REPEATS


def test_warm_ups_are_never_repeated() -> None:
    made = Made(lambda planned, _before: disturbed(planned))
    carry_out(made, 0, "one")
    assert made.runs == [("one", 0, "a"), ("one", 0, "b")]


@pytest.mark.parametrize(
    ("reason", "tried"), [(FAILED, GIVE_UP_AFTER), (TIMED_OUT, 1), (NOT_SUPPORTED, 1)]
)
def test_a_revision_that_only_fails_is_given_up_and_the_other_goes_on(
    reason: str, tried: int
) -> None:
    def fail_b(planned: PlannedRun, before: int) -> Result:
        return failing(reason)(planned, before) if planned.label == "b" else good(planned)

    made = Made(fail_b)
    record = carry_out(made, 4, "one")["one"]
    assert sum(label == "b" for _, _, label in made.runs) == tried
    assert made.told("skip") == ["b"] * (5 - tried)
    assert len(record.of("a")) == 4


def test_one_failure_after_a_good_run_is_not_given_up() -> None:
    def fail_twice(planned: PlannedRun, before: int) -> Result:
        fails = planned.label == "b" and planned.round in (2, 3)
        return failing(FAILED)(planned, before) if fails else good(planned)

    record = carry_out(Made(fail_twice), 4, "one")["one"]
    assert [run.round for run in record.of("b")] == [1, 4]


def test_a_run_that_hung_is_not_tried_again_even_after_a_good_one() -> None:
    def hang_from_round_2(planned: PlannedRun, before: int) -> Result:
        hangs = planned.label == "b" and planned.round >= 2
        return failing(TIMED_OUT)(planned, before) if hangs else good(planned)

    made = Made(hang_from_round_2)
    record = carry_out(made, 5, "one")["one"]
    assert made.runs.count(("one", 2, "b")) == 1
    assert made.told("skip") == ["b"] * 3
    assert len(record.of("a")) == 5


def test_a_revision_that_fails_round_after_round_is_given_up_after_a_good_one_too() -> None:
    def fail_from_round_2(planned: PlannedRun, before: int) -> Result:
        fails = planned.label == "b" and planned.round >= 2
        return failing(FAILED)(planned, before) if fails else good(planned)

    made = Made(fail_from_round_2)
    carry_out(made, 12, "one")
    assert sum(label == "b" for _, number, label in made.runs if number > 1) == GIVE_UP_LATER_AFTER


@dataclass
class Wishes:
    """A guide that decides by the records so far."""

    settled: Callable[[Record], bool]
    seen: Callable[[Record], bool] = lambda _record: True
    """Whether instruments have shown enough."""
    over: Callable[[], bool] = lambda: False
    records: dict[str, Record] = field(default_factory=dict)

    def wants_more(self, scenario: str) -> bool:
        return not self.settled(self.records[scenario])

    def wants_instruments(self, scenario: str) -> bool:
        return not self.seen(self.records[scenario])

    def is_over(self) -> bool:
        return self.over()


def run_until(
    made: Made, wishes: Wishes, most_rounds: int, budget_s: float, *groups: Sequence[str]
) -> dict[str, Record]:
    names = [name for group in groups for name in group]
    at_work, chosen, wishes.records = make_session(made, *names)
    by_name = {one.name: one for one in chosen}
    in_groups = [[by_name[name] for name in group] for group in groups]
    at_work.carry_out_until(wishes, in_groups, ["a", "b"], most_rounds, budget_s)
    return wishes.records


def test_rounds_are_added_until_each_scenario_is_settled_in_turns() -> None:
    enough = {"one": 2, "two": 4}
    made = Made()
    records = run_until(
        made, Wishes(lambda r: len(r.of("a")) >= enough[r.scenario]), 9, 1e9, ("one", "two")
    )
    assert {name: len(record.of("b")) for name, record in records.items()} == enough
    rounds = [(name, number) for name, number, label in made.runs if label == "a" and number]
    assert rounds == [("one", 1), ("two", 1), ("one", 2), ("two", 2), ("two", 3), ("two", 4)]
    assert made.told("complete") == ["one", "two"]
    assert sum(number == 0 for _, number, _ in made.runs) == 2, "one warm-up of each revision"


def test_rounds_end_at_the_most_that_were_allowed() -> None:
    made = Made()
    records = run_until(made, Wishes(lambda _record: False), 3, 1e9, ("one",))
    assert len(records["one"].of("a")) == 3
    assert made.told("complete") == ["one"]


def test_no_round_begins_that_would_exceed_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])

    def pass_time() -> None:
        now[0] += LASTS_S

    made = Made(clock=pass_time)
    # The warm-up takes 20 s, each round 20 s: after the fourth of all rounds, 100 s are spent.
    records = run_until(made, Wishes(lambda _record: False), 30, 115.0, ("one", "two"))
    assert [len(records[name].of("a")) for name in ("one", "two")] == [2, 2]
    assert made.told("complete") == ["one", "two"]
    assert now[0] <= 115


def test_what_a_resumed_comparison_has_is_not_measured_again() -> None:
    made = Made()
    at_work, chosen, records = make_session(made, "one")
    records["one"].add(measurement("a", 1, times(1, 1, 0)))
    wishes = Wishes(lambda r: len(r.of("b")) >= 2, lambda _record: False, records=records)
    at_work.carry_out_until(wishes, [chosen], ["a", "b"], 2, 1e9)
    assert made.runs.count(("one", 1, "b")) == 2, "one of them instrumented"
    assert ("one", 1, "a") not in made.runs
    assert ("one", 1, "b") in made.runs


def test_a_scenario_that_is_settled_from_the_start_runs_not_at_all() -> None:
    made = Made()
    run_until(made, Wishes(lambda _record: True), 9, 1e9, ("one",))
    assert (made.runs, made.told("complete")) == ([], ["one"])


def test_a_scenario_in_which_everything_fails_ends() -> None:
    made = Made(failing(TIMED_OUT))
    run_until(made, Wishes(lambda _record: False), 9, 1e9, ("one",))
    assert len(made.runs) == 2
    assert made.told("complete") == ["one"]


def test_one_group_comes_after_the_other_and_none_takes_more_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])

    def pass_time() -> None:
        now[0] += LASTS_S

    made = Made(clock=pass_time)
    # The warm-up takes 20 s, each round 20 s; 100 s are left for two groups.
    records = run_until(made, Wishes(lambda _record: False), 30, 120.0, ("one",), ("two",))
    assert [len(records[name].of("a")) for name in ("one", "two")] == [2, 3]
    assert [name for name, _, _ in made.runs] == ["one"] * 6 + ["two"] * 6


def test_nothing_more_is_measured_when_the_guide_says_that_it_is_over() -> None:
    made = Made()
    wishes = Wishes(lambda _record: False, over=lambda: len(made.runs) >= 4)
    run_until(made, wishes, 9, 1e9, ("one", "two"), ("three",))
    assert [name for name, _, _ in made.runs] == ["one"] * 4
    assert sorted(made.told("complete")) == ["one", "three", "two"]


def seen(planned: PlannedRun) -> Result:
    metrics = {"system_calls": 100 * planned.round, "system_share_steady": 0.25}
    return measurement(planned.label, planned.round, metrics)


def timed(planned: PlannedRun) -> Result:
    metrics = {**times(1, 1, 0), "time_cpu_steady": 0.4}
    return measurement(planned.label, planned.round, metrics)


def test_what_instruments_see_goes_to_the_timed_run_of_the_same_round() -> None:
    made = Made(lambda planned, _before: (seen if planned.instrumented else timed)(planned))
    enough = Wishes(lambda r: len(r.of("b")) >= 3, lambda r: len(r.of("b")) >= 2)
    record = run_until(made, enough, 9, 1e9, ("one",))["one"]
    calls = [run.metrics.get("system_calls") for run in record.of("b")]
    assert calls == [100, 200, None]
    first = record.of("a")[0].metrics
    assert first["time_system_steady"] == pytest.approx(0.25 * 0.4)
    assert first["time_user_steady"] == pytest.approx(0.75 * 0.4)
    assert "system_share_steady" not in first
    # Both revisions are observed before either is timed.
    rounds = [label for _, number, label in made.runs if number == 1]
    assert rounds in (["a", "b", "a", "b"], ["b", "a", "b", "a"])
    assert len(made.told("keep")) == 6, "an instrumented run by itself is not kept"


def test_a_repeated_round_keeps_what_instruments_saw() -> None:
    def disturb_once(planned: PlannedRun, before: int) -> Result:
        if planned.instrumented:
            return seen(planned)
        return disturbed(planned) if before == 1 else timed(planned)

    made = Made(disturb_once)
    record = run_until(
        made, Wishes(lambda r: bool(r.of("b")), lambda _record: False), 9, 1e9, ("one",)
    )["one"]
    assert [run.metrics["system_calls"] for run in record.measurements] == [100, 100]
    assert len(record.outcomes) == 2


def test_a_disturbed_instrumented_run_is_repeated_and_its_last_attempt_counts() -> None:
    def always_disturbed(planned: PlannedRun, before: int) -> Result:
        if not planned.instrumented:
            return timed(planned)
        metrics = {"system_calls": 100 + before}
        return measurement(planned.label, planned.round, metrics, marks=(DISTURBED,))

    made = Made(always_disturbed)
    record = run_until(
        made, Wishes(lambda r: bool(r.of("b")), lambda _record: False), 9, 1e9, ("one",)
    )["one"]
    assert made.runs.count(("one", 1, "a")) == 1 + session.MOST_REPEATS + 1
    last = 100 + session.MOST_REPEATS
    assert [run.metrics["system_calls"] for run in record.measurements] == [last, last]
    assert record.outcomes == []


def test_an_instrumented_run_that_fails_is_an_outcome() -> None:
    def fail_observed(planned: PlannedRun, before: int) -> Result:
        return failing(FAILED)(planned, before) if planned.instrumented else timed(planned)

    record = run_until(
        Made(fail_observed), Wishes(lambda r: bool(r.of("b")), lambda _record: False), 9, 1e9,
        ("one",),
    )["one"]  # fmt: skip
    assert [outcome.reason for outcome in record.outcomes] == [FAILED, FAILED]
    assert [run.label for run in record.measurements] == ["b", "a"]


def test_an_instrumented_warm_up_gives_what_it_sees_to_the_first_round() -> None:
    made = Made(lambda planned, _before: (seen if planned.instrumented else timed)(planned))
    at_work, chosen, records = make_session(made, "one")
    at_work.carry_out(plan.schedule(chosen, ["a", "b"], 2, instrumented=True))
    calls = [run.metrics.get("system_calls") for run in records["one"].of("a")]
    assert calls == [0, None]


def test_a_scenario_with_one_revision_left_stops_and_the_other_scenario_goes_on() -> None:
    def fail_b_in_one(planned: PlannedRun, before: int) -> Result:
        fails = planned.label == "b" and planned.scenario.name == "one"
        return failing(FAILED)(planned, before) if fails else good(planned)

    made = Made(fail_b_in_one)
    records = run_until(made, Wishes(lambda _record: False), 9, 1e9, ("one", "two"))
    assert len(records["one"].of("a")) == 1, "the warm-up and the first round have failed"
    assert len(records["two"].of("b")) == 9
