"""Carrying out a plan, and rounds that are added for as long as a guide wants them."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.execution.made_runs import (
    LASTS_S,
    Made,
    carry_out,
    disturbed,
    failing,
    good,
    make_rounds,
    run_until,
    scenario,
)
from tests.records import context, measurement, outcome, times
from waitbench.model.record import GIVE_UP_AFTER, ScenarioResults
from waitbench.model.run import (
    DISTURBED,
    FAILED,
    NOT_BUILT,
    NOT_SUPPORTED,
    TIMED_OUT,
    WARM_UP,
    PlannedRun,
    Result,
)
from waitbench.model.scenario import CurvePoint
from waitbench.system import machine


def test_a_disturbed_round_is_repeated_whole_and_its_runs_are_set_aside() -> None:
    def disturb_once(planned: PlannedRun, before: int) -> Result:
        disturbs = planned.round == 2 and planned.label == "a" and before == 0
        return disturbed(planned) if disturbs else undisturbed(planned)

    def undisturbed(planned: PlannedRun) -> Result:
        # A hypervisor takes from who wants CPU: a worker that spins would excuse itself.
        metrics = {**times(1, 1, 0), "machine_foreign_cpu": 0.0, "machine_steal": 0.9}
        return measurement(planned.label, planned.round, metrics)

    made = Made(disturb_once)
    record = carry_out(made, 2, "one")["one"]
    assert made.runs.count(("one", 2, "a")) == made.runs.count(("one", 2, "b")) == 2
    assert made.runs.count(("one", 1, "a")) == 1
    assert sorted((run.label, run.round) for run in record.measurements) == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip
    assert [(o.label, o.reason) for o in record.failed_runs] == [("a", DISTURBED), ("b", DISTURBED)]
    assert "0.70 s of CPU" in record.failed_runs[0].message
    # What was kept of the disturbed runs is taken back on disk, too.
    saved = [result for _, result in made.heard("keep")]
    assert [result for result in saved if result in record.failed_runs] == record.failed_runs


def test_a_round_in_which_a_run_failed_is_not_repeated_and_the_failure_stays() -> None:
    def crash(planned: PlannedRun, before: int) -> Result:
        crashes = planned.label == "b" and planned.round == 2
        return failing("failed")(planned, before) if crashes else disturbed_later(planned)

    made = Made(crash)
    record = carry_out(made, 2, "one")["one"]
    assert made.runs.count(("one", 2, "a")) == 1
    assert {(run.label, run.round) for run in record.failures} == {("b", 2)}
    assert [run.marks for run in record.of("a")] == [(DISTURBED,)] * 2


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
    assert len(record.of("a")) == 4


def disturbed_later(planned: PlannedRun, before: int = 0) -> Result:
    """A run that other programs disturb unless it is a warm-up."""
    return good(planned, before) if planned.round == WARM_UP else disturbed(planned)


def test_where_others_begin_to_work_one_round_is_repeated_and_all_are_marked() -> None:
    """In every other round b is first: a's run may have what it left, and is not made again."""
    made = Made(disturbed_later)
    record = carry_out(made, 6, "one")["one"]
    tries = [made.runs.count(("one", number, "a")) for number in range(1, 7)]
    assert tries == [1, 2, 1, 1, 1, 1]
    assert record.disturbed_rounds == {1, 2, 3, 4, 5, 6}
    assert [run.marks for run in record.measurements] == [(DISTURBED,)] * 12
    assert [(run.label, run.round) for run in record.failed_runs] == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(("cpus", "is_marked"), [(2.0, False), (1.0, True)])
def test_a_load_of_before_the_first_candidate_disturbs_nothing_up_to_half_of_the_cpus(
    cpus: float, is_marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "usable_cpus", lambda: cpus)
    made = Made(lambda planned, _before: disturbed(planned))
    record = carry_out(made, 6, "one")["one"]
    assert made.runs[0] == ("one", WARM_UP, "a")
    assert bool(record.disturbed_rounds) is is_marked


def test_a_candidate_that_was_not_built_leaves_the_usual_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "usable_cpus", lambda: 2.0)
    made = Made(lambda planned, _before: disturbed(planned))
    record = ScenarioResults(spec=scenario("one"), context=context(["a", "b", "c"]))
    record.add(outcome("c", WARM_UP, NOT_BUILT))
    make_rounds(made.session({"one": record}), [scenario("one")], 3)
    assert record.rounds == {1, 2, 3}
    assert record.disturbed_rounds == frozenset()


def test_a_load_that_ends_is_usual_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a candidate cannot have others work in its place."""
    monkeypatch.setattr(machine, "usable_cpus", lambda: 2.0)
    calm = {(WARM_UP, "b"), (1, "a"), (1, "b")}
    made = Made(
        lambda planned, _before: (
            good(planned) if (planned.round, planned.label) in calm else disturbed(planned)
        )
    )
    record = carry_out(made, 4, "one")["one"]
    assert record.disturbed_rounds == {2, 3, 4}


def test_a_resumed_comparison_knows_no_usual_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate of the earlier session may have left behind what works now."""
    monkeypatch.setattr(machine, "usable_cpus", lambda: 2.0)
    made = Made(lambda planned, _before: disturbed(planned))
    record = ScenarioResults(spec=scenario("one"), context=context(["a", "b"]))
    record.measurements += [measurement(label, 1, times(1, 1, 0)) for label in "ab"]
    make_rounds(made.session({"one": record}), [scenario("one")], 3)
    assert record.disturbed_rounds == {2, 3}


def test_rounds_are_added_until_each_scenario_is_settled_in_turns() -> None:
    enough = {"one": 2, "two": 4}
    made = Made()
    records = run_until(
        made, lambda r: len(r.of("a")) >= enough[r.scenario], 9, 1e9, ("one", "two")
    )
    assert {name: len(record.of("b")) for name, record in records.items()} == enough
    rounds = [(name, number) for name, number, label in made.runs if label == "a" and number]
    assert sorted(rounds) == [
        ("one", 1), ("one", 2), ("two", 1), ("two", 2), ("two", 3), ("two", 4),
    ]  # fmt: skip
    assert [number for _, number in rounds] == [1, 1, 2, 2, 3, 4]
    assert sum(number == 0 for _, number, _ in made.runs) == 2, "one warm-up of each revision"


def test_without_a_gate_all_rounds_of_a_scenario_follow_each_other() -> None:
    made = Made()
    carry_out(made, 3, "one", "two")
    warm_ups, runs = made.runs[:2], made.runs[2:]
    assert warm_ups == [("one", WARM_UP, "a"), ("one", WARM_UP, "b")]
    expected = [(name, number) for name in ("one", "two") for number in (1, 2, 3)]
    assert [(name, number) for name, number, _ in runs[::2]] == expected
    assert [(name, number) for name, number, _ in runs[1::2]] == expected
    labels = [label for _, _, label in runs]
    assert all({*pair} == {"a", "b"} for pair in zip(labels[::2], labels[1::2], strict=True))


def test_a_revision_that_a_resumed_comparison_lacks_gets_all_rounds() -> None:
    """Such as one that was not built before."""
    record = ScenarioResults(spec=scenario("one"), context=context(["a", "b"]))
    record.measurements += [measurement("a", number, times(1, 1, 0)) for number in (1, 2, 3)]
    made = Made()
    make_rounds(made.session({"one": record}), [scenario("one")], 3)
    assert made.runs == [("one", number, "b") for number in (WARM_UP, 1, 2, 3)]


def test_a_warm_up_that_fails_is_made_once_for_each_scenario() -> None:
    def fail_b(planned: PlannedRun, before: int) -> Result:
        return failing(FAILED)(planned, before) if planned.label == "b" else good(planned)

    made = Made(fail_b)
    record = ScenarioResults(spec=scenario("one"), context=context(["a", "b"]))
    record.measurements += [measurement(label, 1, times(1, 1, 0)) for label in "ab"]
    make_rounds(made.session({"one": record}), [scenario("one")], 4)
    assert [number for _, number, label in made.runs if label == "b"] == [WARM_UP, 2, 3, 4]


def test_no_round_follows_a_warm_up_that_leaves_nothing_to_compare() -> None:
    def hang_b(planned: PlannedRun, before: int) -> Result:
        return failing(TIMED_OUT)(planned, before) if planned.label == "b" else good(planned)

    made = Made(hang_b)
    run_until(made, never, 9, 1e9, ("one",))
    assert made.runs == [("one", WARM_UP, "a"), ("one", WARM_UP, "b")]


def test_nothing_runs_if_a_resumed_comparison_has_all_rounds() -> None:
    made = Made()
    record = ScenarioResults(spec=scenario("one"), context=context(["a", "b"]))
    record.measurements += [measurement(label, 1, times(1, 1, 0)) for label in "ab"]
    make_rounds(made.session({"one": record}), [scenario("one")], 1)
    assert made.runs == []


def test_a_revision_that_cannot_run_the_first_scenario_is_warmed_up_in_the_next() -> None:
    def lack(planned: PlannedRun, before: int) -> Result:
        lacks = (planned.label, planned.scenario.name) == ("b", "one")
        return failing(NOT_SUPPORTED)(planned, before) if lacks else good(planned)

    made = Made(lack)
    carry_out(made, 1, "one", "two")
    assert made.runs[:4] == [("one", 0, "a"), ("one", 0, "b"), ("one", 1, "a"), ("two", 0, "b")]


def test_the_values_of_a_scan_take_turns_in_each_round() -> None:
    made = Made()
    values = [
        replace(
            scenario(f"one@n={value}"),
            scan=CurvePoint(scenario="one", parameter="n", value=value),
        )
        for value in (1, 2, 4)
    ]
    chosen = [*values[:2], scenario("two"), values[2]]
    records = {it.name: ScenarioResults(spec=it, context=context(["a", "b"])) for it in chosen}
    make_rounds(made.session(records), chosen, 6)
    names = [name for name, number, _ in made.runs if number]
    assert names[-12:] == ["two"] * 12, "after all values of the scan"
    rounds = [names[6 * number : 6 * number + 6] for number in range(6)]
    assert all(Counter(names) == {it.name: 2 for it in values} for names in rounds)
    assert set(Counter(names[0] for names in rounds).values()) == {2}


def never(_record: ScenarioResults) -> bool:
    return False


def timed(monkeypatch: pytest.MonkeyPatch) -> tuple[Made, list[float]]:
    """A measurer whose runs take their time, and the seconds that have passed."""
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])

    def pass_time() -> None:
        now[0] += LASTS_S

    return Made(clock=pass_time), now


def test_no_round_begins_that_would_exceed_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    made, now = timed(monkeypatch)
    # The warm-up takes 20 s, each round 20 s: after the fourth of all rounds, 100 s are spent.
    records = run_until(made, never, 30, 115.0, ("one", "two"))
    assert [len(records[name].of("a")) for name in ("one", "two")] == [2, 2]
    assert now[0] <= 115


def test_a_scenario_with_one_revision_left_stops_and_the_other_scenario_goes_on() -> None:
    def fail_b_in_one(planned: PlannedRun, before: int) -> Result:
        fails = planned.label == "b" and planned.scenario.name == "one"
        return failing(FAILED)(planned, before) if fails else good(planned)

    made = Made(fail_b_in_one)
    records = run_until(made, never, 9, 1e9, ("one", "two"))
    assert len(records["one"].of("a")) <= GIVE_UP_AFTER
    assert len(records["two"].of("b")) == 9


def test_a_candidate_goes_on_where_the_baseline_is_not_supported() -> None:
    """Only limits are asked about there."""

    def lack(planned: PlannedRun, before: int) -> Result:
        return failing(NOT_SUPPORTED)(planned, before) if planned.label == "a" else good(planned)

    records = run_until(Made(lack), lambda record: len(record.of("b")) >= 9, 30, 1e9, ("one",))
    assert len(records["one"].of("b")) == 9


def test_one_group_comes_after_the_other_and_none_takes_more_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, _ = timed(monkeypatch)
    # The warm-up takes 20 s, each round 20 s; 100 s are left for two groups.
    records = run_until(made, never, 30, 120.0, ("one",), ("two",))
    assert [len(records[name].of("a")) for name in ("one", "two")] == [2, 3]
    assert [name for name, _, _ in made.runs] == ["one"] * 6 + ["two"] * 6


def test_some_runs_of_the_baseline_follow_one_of_its_own_however_many_scenarios_there_are() -> None:
    for names in (("one",), ("one", "two"), ("one", "two", "three")):
        made = Made()
        run_until(made, never, 12, 1e9, names)
        labels = [label for _, _, label in made.runs]
        own = [pair for pair in pairwise(labels) if pair == ("a", "a")]
        assert len(own) >= 2 * len(names), "of twelve rounds of each"


NEVER_READY = "it was not ready within 30 s: no line of its output matches 'up': 12:00:0{}"


def never_ready(labels: str, names: Sequence[str] = ("one", "two", "three", "four")) -> Made:
    """Runs that wait in vain, with a last line that is another each time."""

    def wait(planned: PlannedRun, before: int) -> Result:
        if planned.label not in labels or planned.scenario.name not in names:
            return good(planned)
        message = NEVER_READY.format(len(made.runs))
        return outcome(planned.label, planned.round, FAILED, message=message)

    made = Made(wait)
    return made


def test_two_scenarios_that_fail_alike_to_become_ready_end_the_session() -> None:
    names = ("one", "two", "three", "four")
    made = never_ready("ab")
    carry_out(made, 3, *names)
    assert {name for name, _, _ in made.runs} == {"one", "two"}
    assert [name for name, _, _ in made.runs] == ["one"] * 4 + ["two"] * 2
    made = never_ready("b")
    run_until(made, never, 9, 1e9, names)
    assert len({name for name, _, label in made.runs if label == "b"}) == 2


def test_a_revision_that_becomes_ready_in_any_scenario_is_tried_in_all() -> None:
    made = never_ready("ab", ("two", "three", "four"))
    records = carry_out(made, 3, "one", "two", "three", "four")
    assert {name for name, _, _ in made.runs} == set(records)
