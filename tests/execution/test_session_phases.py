"""Phases of a worker file, whose concurrent runs share batches."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from tests.criteria import parse
from tests.execution.made_runs import (
    BUSY,
    IDLE,
    QUIET,
    WORKING,
    MadeUpCommand,
    MadeUpWithServices,
    Together,
    disturbed,
    giving,
    make_session,
    measured,
    using,
)
from tests.records import context, measurement, outcome, specify
from tests.worker_gates import Behaviour, gates_of
from waitbench.analysis.rounds import why_interleaved
from waitbench.execution import plan
from waitbench.execution.concurrency import Concurrency, turn_s
from waitbench.model.metrics import METRICS
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    ENDED,
    FAILED,
    INTERFERED,
    WARM_UP,
    Lack,
    PlannedRun,
    Result,
)
from waitbench.model.scenario import Scenario
from waitbench.model.verdicts import GateStatus

pytestmark = pytest.mark.usefixtures("two_cpus")


def of_phases(
    made: Together,
    *phases: Scenario,
    wanted: int = 8,
    most: int = 9,
    differing: Callable[[ScenarioResults], str] = lambda _record: "",
    may_skip_turn: bool = False,
) -> dict[str, ScenarioResults]:
    """Rounds of several scenarios of a worker file, for a guide that wants so many of each."""
    names = [phase.name for phase in phases]
    allowed = Concurrency(names, differing, may_skip_turn=may_skip_turn)
    at_work, _, records = make_session(made, *names, concurrency=allowed)
    for record in records.values():
        specify(record, waits=True)
    at_work.carry_out(
        lambda name: 99 * (len(records[name].of("a")) < wanted), [phases], ["a", "b"], most
    )
    return records


(LATENESS,) = parse(["latency-p50:10%"], METRICS)
PHASES = [MadeUpCommand(name=name, parameters={"window": 2.0}) for name in ("one", "two", "three")]


def test_concurrent_rounds_of_several_phases_share_a_batch() -> None:
    """Of two phases: three times four rounds are more than the machine takes at once."""
    made = using()
    records = of_phases(made, *PHASES[:2], wanted=3, most=3)
    turns, batch = made.runs[1:6], made.runs[6:]
    assert {(name, number) for name, number, _ in turns if number} == {("one", 1), ("two", 1)}
    assert [len(runs) for runs in made.at_once] == [len(batch)] == [8]
    assert {name for name, _, _ in batch} == {"one", "two"}
    for record in records.values():
        assert {run.round for run in record.measurements if CONCURRENT in run.marks} == {2, 3}


def test_a_batch_of_phases_is_no_larger_than_one_of_a_phase() -> None:
    made = using()
    of_phases(made, *PHASES, wanted=5, most=5)
    assert {len(runs) for runs in made.at_once} == {2 * MadeUpCommand.most_concurrent_rounds}
    assert len(made.at_once) == len(PHASES)


def test_after_a_warm_up_of_each_phase_all_phases_share_the_first_batch() -> None:
    made = using()
    records = of_phases(made, *PHASES[:2], wanted=2, most=3, may_skip_turn=True)
    turns, batch = made.runs[:4], made.runs[4:]
    assert {(name, label) for name, _, label in turns} == {
        (n, r) for n in ("one", "two") for r in "ab"
    }
    assert {number for _, number, _ in turns} == {WARM_UP}
    assert [len(runs) for runs in made.at_once] == [len(batch)] == [8]
    for record in records.values():
        assert len(record.warm_ups) == 2
        assert {run.round for run in record.measurements if CONCURRENT in run.marks} == {1, 2}


@pytest.mark.parametrize(("later", "is_kept"), [(0.05, True), (0.15, False)])
def test_what_the_baseline_uses_in_all_phases_of_a_first_batch_counts(
    later: float, is_kept: bool
) -> None:
    """On CPUs that all want, the runs of each phase by themselves seem to use few."""
    made = giving(lambda run: {"cpu_share_idle": later if run.round else 0.01})
    records = of_phases(made, *PHASES[:2], wanted=2, most=3, may_skip_turn=True)
    assert [len(runs) for runs in made.at_once][:1] == [8]
    messages = {run.message for it in records.values() for run in it.failed_runs}
    assert messages == (set() if is_kept else {"the baseline's runs used 0.6 CPUs together"})


@pytest.mark.parametrize("has_services", [False, True])
def test_warm_ups_leave_half_of_the_budget_for_rounds(
    monkeypatch: pytest.MonkeyPatch, *, has_services: bool
) -> None:
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])

    def run(planned: PlannedRun, _before: int) -> Result:
        now[0] += 6.0 if planned.round == WARM_UP else 0.0
        made = giving(lambda _run: {"cpu_share_idle": 0.15}) if has_services else using()
        return made.behave(planned, 0)

    kind = MadeUpWithServices if has_services else MadeUpCommand
    phases = [kind(name=name, parameters={"window": 2.0}) for name in ("1", "2", "3")]
    made, names = Together(run), [phase.name for phase in phases]
    concurrency = Concurrency(names, may_skip_turn=True)
    at_work, _, records = make_session(made, *names, concurrency=concurrency)
    at_work.carry_out(lambda name: 9 - len(records[name].rounds), [phases], ["a", "b"], 9, 40.0)
    assert [number for _, number, _ in made.runs].count(WARM_UP) == 4
    assert made.at_once


WITH_SERVICES = [MadeUpWithServices(name=it.name, parameters=it.parameters) for it in PHASES]


@pytest.mark.parametrize(
    ("phases", "given", "pairs"),
    [
        (WITH_SERVICES, {}, [2]),
        # Both may handle a message of one broker.
        (PHASES, {}, []),
        (WITH_SERVICES, {"cpu_share_idle": 0.15}, [1, 1]),
        (WITH_SERVICES, {"cpu_share_idle": 0.4}, []),
        (WITH_SERVICES, {"memory_proportional": 200.0}, [1, 1]),
        (WITH_SERVICES, {"memory_proportional": 300.0}, []),
    ],
)
def test_warm_ups_of_further_phases_are_concurrent_if_those_of_the_first_idle(
    phases: Sequence[Scenario],
    given: Mapping[str, float],
    pairs: Sequence[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("waitbench.execution.concurrency.available_memory", lambda: 1000)
    made = giving(lambda _run: given)
    records = of_phases(made, *phases, wanted=2, most=3, may_skip_turn=True)
    warm_ups = [runs for runs in made.at_once if runs[0][0] == WARM_UP]
    assert warm_ups == [[(WARM_UP, "a"), (WARM_UP, "b")] * count for count in pairs]
    assert [run for run in made.runs if run[1] == WARM_UP] == [
        (phase.name, WARM_UP, label) for phase in phases for label in "ab"
    ]
    assert not any(run.marks for it in records.values() for run in it.warm_ups)


def test_what_phases_use_in_their_warm_ups_decides_whether_later_ones_are_concurrent() -> None:
    def used(planned: PlannedRun) -> Mapping[str, float]:
        return {"cpu_share_idle": 0.15 if planned.scenario.name == "one" else 1.9}

    made = giving(used)
    of_phases(made, *WITH_SERVICES, wanted=2, most=3, may_skip_turn=True)
    warm_ups = [runs for runs in made.at_once if runs[0][0] == WARM_UP]
    assert warm_ups == [[(WARM_UP, "a"), (WARM_UP, "b")]]


def test_warm_ups_of_an_earlier_session_do_not_show_that_a_phase_idles() -> None:
    made, names = using(), [phase.name for phase in WITH_SERVICES[:2]]
    concurrency = Concurrency(names, may_skip_turn=True)
    at_work, _, records = make_session(made, *names, concurrency=concurrency)
    for record in records.values():
        record.warm_ups = [measurement(label, WARM_UP, {"cpu_share_idle": IDLE}) for label in "ab"]
    at_work.carry_out(lambda _name: 1, [WITH_SERVICES[:2]], ["a", "b"], 1)
    assert made.at_once == [[(WARM_UP, "a"), (WARM_UP, "b")]]


@pytest.mark.parametrize(
    ("phase", "cpus", "expected_s"),
    [
        (PHASES[0], 2.0, 0.35),
        (WITH_SERVICES[0], 1.0, 0.7),
        (WITH_SERVICES[0], 2.0, 0.4),
        (WITH_SERVICES[0], 3.0, 0.4 / 3 + 0.2),
        (PHASES[0], 8.0, 0.0875),
        (WITH_SERVICES[0], 8.0, 0.1),
    ],
)
def test_runs_with_services_are_poked_in_half_of_the_lanes_and_ended_in_the_others(
    phase: Scenario, cpus: float, expected_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker starts on each CPU."""
    monkeypatch.setattr("waitbench.execution.concurrency.usable_cpus", lambda: cpus)
    record = ScenarioResults(spec=phase, context=context(["a", "b"]))
    starts = {"time_startup": 0.4, "time_cpu_startup": 0.4}
    ends = {"item_latency_p50": 0.2, "time_stop": 0.1, "time_cpu_shutdown": 0.1}
    record.add(measurement("a", 1, {**starts, **ends}))
    assert turn_s(record) == pytest.approx(expected_s)


def colliding() -> Together:
    """Its second phase fails if other runs take place at the same time."""

    def run(planned: PlannedRun, _before: int) -> Result:
        if planned.scenario.name == "two" and made.beside > 1:
            return outcome(planned.label, planned.round, FAILED)
        return using().behave(planned, 0)

    made = Together(run)
    return made


def test_after_a_warm_up_that_failed_beside_the_other_a_phase_takes_turns() -> None:
    records = of_phases(colliding(), *WITH_SERVICES[:2], wanted=3, most=3, may_skip_turn=True)
    assert {it.reason for it in records["two"].failed_runs} == {INTERFERED}
    assert records["one"].interleaved_rounds == {3}
    assert records["two"].interleaved_rounds == {1, 2, 3}


def test_phases_in_which_both_may_end_beside_the_other_are_not_tried_again() -> None:
    def run(planned: PlannedRun, _before: int) -> Result:
        if planned.scenario.name == "two":
            return outcome(planned.label, planned.round, ENDED)
        return using().behave(planned, 0)

    made = Together(run)
    records = of_phases(made, *WITH_SERVICES[:2], wanted=3, most=3, may_skip_turn=True)
    assert [it.reason for it in records["two"].failed_runs] == [ENDED] * 2
    assert records["one"].rounds == {1, 2, 3}


def test_a_phase_whose_first_second_is_busy_keeps_its_warm_ups() -> None:
    def used(planned: PlannedRun) -> Mapping[str, float]:
        is_busy = planned.scenario.name == "two" and planned.round == WARM_UP
        return {"cpu_share_idle": WORKING if is_busy else IDLE}

    records = of_phases(giving(used), *WITH_SERVICES[:2], wanted=3, most=3, may_skip_turn=True)
    assert len(records["two"].warm_ups) == 2
    assert not records["two"].failed_runs


@pytest.mark.parametrize(("later_s", "cores"), [(0.1, 0.1), (0.6, 0.4)])
def test_the_load_of_others_beside_both_warm_ups_lowers_the_usual_one(
    later_s: float, cores: float
) -> None:
    """Others use 0.4 of a CPU during the first warm-up, perhaps by chance."""

    def given(planned: PlannedRun) -> Mapping[str, float]:
        foreign_s = 0.4 if planned.scenario.name == "one" else later_s
        return {"time_wall_clock": 1.0, "machine_foreign_cpu": foreign_s}

    names = [phase.name for phase in WITH_SERVICES[:2]]
    concurrency = Concurrency(names, may_skip_turn=True)
    at_work, _, _ = make_session(giving(given), *names, concurrency=concurrency)
    at_work.carry_out(lambda _name: 1, [WITH_SERVICES[:2]], ["a", "b"], 1, 0.1)
    assert at_work._usual_cores == pytest.approx(cores)


@pytest.mark.parametrize(
    ("services", "revisions", "most"), [(0, 2, 48), (1, 2, 48), (2, 2, 34), (1, 3, 32)]
)
def test_concurrent_runs_have_the_file_descriptors_that_a_process_may_open(
    services: int, revisions: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class WithMany(MadeUpCommand, frozen=True, kw_only=True):
        most_concurrent_rounds: ClassVar[int] = 48

    monkeypatch.setattr(WithMany, "services", services)
    monkeypatch.setattr("waitbench.execution.concurrency.usable_cpus", lambda: 8.0)
    assert Concurrency(("one",)).most_rounds(WithMany(name="one"), revisions) == most


@pytest.mark.parametrize(("late_runs", "in_turns"), [(1, 0), (2, 1)])
def test_warm_ups_that_differ_from_a_batch_are_repeated_before_a_round_takes_turns(
    late_runs: int, in_turns: int
) -> None:
    def run(planned: PlannedRun, before: int) -> Result:
        is_late = planned.round == WARM_UP and planned.label == "b" and before < late_runs
        metrics = {**QUIET, "cpu_share_idle": IDLE, "item_latency_p50": 0.4 if is_late else 0.1}
        return measurement(planned.label, planned.round, metrics)

    made = Together(run)
    differing = partial(why_interleaved, criteria=[LATENESS])
    record = of_phases(made, PHASES[0], wanted=3, most=4, differing=differing, may_skip_turn=True)[
        "one"
    ]
    assert [number for _, number, _ in made.runs].count(WARM_UP) == 4
    assert len(record.interleaved_rounds) == in_turns


def test_phases_that_cannot_be_concurrent_have_warm_ups_in_the_first_one_only() -> None:
    made = using()
    names = [phase.name for phase in PHASES[:2]]
    at_work, _, _ = make_session(made, *names, concurrency=Concurrency((), may_skip_turn=True))
    at_work.carry_out(lambda _name: 1, [PHASES[:2]], ["a", "b"], 1)
    assert [number for _, number, _ in made.runs].count(WARM_UP) == 2


def test_a_candidate_that_was_ready_in_a_warm_up_is_given_up_in_no_other_phase() -> None:
    """Twice it is not ready in time, perhaps as the machine was busy."""

    def run(planned: PlannedRun, _before: int) -> Result:
        is_late = planned.label == "b" and planned.scenario.name != "one"
        if is_late and planned.round == WARM_UP:
            message = "it was not ready within 30 s"
            return replace(outcome(planned.label, planned.round, FAILED), message=message)
        return using().behave(planned, 0)

    records = of_phases(Together(run), *PHASES, wanted=2, most=3, may_skip_turn=True)
    assert all(record.of("b") for record in records.values())


def test_a_phase_that_fails_beside_others_takes_turns_and_the_others_do_not() -> None:
    records = of_phases(colliding(), *PHASES[:2], wanted=3, most=3)
    for name, kept in (("one", {CONCURRENT}), ("two", set())):
        marks = [set(it.marks) for it in records[name].measurements if it.round > 1]
        assert marks == [kept] * 4
    assert {it.reason for it in records["two"].failed_runs} == {INTERFERED}


def test_each_phase_begins_in_turns() -> None:
    records = of_phases(using(), *PHASES, wanted=6, most=9)
    assert {record.interleaved_rounds for record in records.values()} == {frozenset({1})}


def test_runs_take_turns_until_a_round_has_all_revisions() -> None:
    """In each of the first two rounds another revision fails."""

    def run(planned: PlannedRun, _before: int) -> Result:
        if (planned.round, planned.label) in ((1, "a"), (2, "b")):
            return outcome(planned.label, planned.round, FAILED)
        return using().behave(planned, 0)

    record = of_phases(Together(run), PHASES[0], wanted=6, most=9)["one"]
    assert record.interleaved_rounds == {1, 2, 3}
    assert record.rounds > {1, 2, 3}


@pytest.mark.parametrize("is_deaf_alone", [True, False])
def test_a_candidate_that_never_answers_keeps_its_first_batch(is_deaf_alone: bool) -> None:
    lack = {"item_latency_p50": Lack(why="no answer", more_than=2.0)}

    def run(planned: PlannedRun, _before: int) -> Result:
        metrics = {**QUIET, "cpu_share_idle": IDLE}
        is_deaf = planned.label == "b" and (is_deaf_alone or made.beside > 1)
        incomplete = lack if is_deaf else {}
        return measurement(planned.label, planned.round, metrics, incomplete=incomplete)

    made = Together(run)
    record = of_phases(made, PHASES[0], wanted=8, most=9)["one"]
    assert any(CONCURRENT in it.marks for it in record.measurements) is is_deaf_alone
    assert {it.reason for it in record.failed_runs} == (set() if is_deaf_alone else {INTERFERED})


@pytest.mark.parametrize(("silent", "is_kept"), [("b", True), ("ab", False)])
def test_a_candidate_that_never_answers_after_a_whole_window_keeps_its_first_batch(
    silent: str, is_kept: bool
) -> None:
    """The window of its warm-up is shorter. If no revision answers, they may have collided."""
    lack = {"item_latency_p50": Lack(why="no answer", more_than=2.0)}

    def run(planned: PlannedRun, _before: int) -> Result:
        metrics = {**QUIET, "cpu_share_idle": IDLE}
        incomplete = lack if planned.label in silent and planned.round else {}
        return measurement(planned.label, planned.round, metrics, incomplete=incomplete)

    made = Together(run)
    record = measured(made, may_skip_turn=True, enough=4)
    assert {CONCURRENT in it.marks for it in record.measurements} == {is_kept}
    assert bool(record.failed_runs) is not is_kept


def test_a_phase_that_does_not_answer_in_its_first_batch_is_asked_in_turns() -> None:
    lack = {"item_latency_p50": Lack(why="no answer", more_than=2.0)}

    def run(planned: PlannedRun, _before: int) -> Result:
        collides = planned.scenario.name == "two" and made.beside > 2
        metrics = {**QUIET, "cpu_share_idle": IDLE}
        incomplete = lack if collides and planned.label == "b" else {}
        return measurement(planned.label, planned.round, metrics, incomplete=incomplete)

    made = Together(run)
    records = of_phases(made, *PHASES[:2], wanted=4, most=4)
    assert {it.reason for it in records["two"].failed_runs} == {INTERFERED}
    assert records["two"].interleaved_rounds == {1, 2, 3, 4}
    assert not any(run.incomplete for run in records["two"].measurements)


def test_a_phase_whose_first_round_works_takes_turns() -> None:
    def run(planned: PlannedRun) -> Mapping[str, float]:
        return {"cpu_share_idle": BUSY} if planned.scenario.name == "two" else {}

    made = giving(run)
    records = of_phases(made, *PHASES[:2], wanted=3, most=3)
    assert any(CONCURRENT in run.marks for run in records["one"].measurements)
    assert not any(CONCURRENT in run.marks for run in records["two"].measurements)


@pytest.mark.parametrize(("foreign_s", "is_known"), [(0.9, True), (1.1, False)])
def test_cpu_of_other_programs_is_allowed_for_all_rounds_of_a_batch(
    foreign_s: float, is_known: bool
) -> None:
    """Two rounds of each of two phases allow 1 s."""
    made = giving(lambda _run: {"machine_foreign_cpu": foreign_s if made.beside > 1 else 0.0})
    records = of_phases(made, *PHASES[:2], wanted=3, most=3)
    runs = [run for it in records.values() for run in it.measurements if run.round > 1]
    assert {"machine_foreign_cpu" in run.metrics for run in runs} == {is_known}


def test_a_batch_for_which_there_is_no_room_any_more_is_made_round_by_round() -> None:
    made = Together(lambda planned, _before: disturbed(planned))
    at_work, _, records = make_session(made, "one", "two")
    runs = [run for phase in PHASES[:2] for run in plan.one_round(phase, ["a", "b"], 2)]
    at_work._make_rounds(runs)
    assert not made.at_once
    for record in records.values():
        assert {run.label for run in record.measurements} == {"a", "b"}


def test_a_candidate_that_may_end_costs_no_rounds_of_the_baseline_alone() -> None:
    def run(planned: PlannedRun, _before: int) -> Result:
        if (planned.scenario.name, planned.label) == ("two", "b"):
            return outcome("b", planned.round, ENDED)
        return using().behave(planned, 0)

    made = Together(run)
    of_phases(made, *PHASES[:2], wanted=4, most=4)
    assert made.runs.count(("two", 2, "a")) <= 1


PHASE = '[[phase]]\nname = "{}"\npoke = true\n'


@pytest.mark.parametrize(
    ("where", "spins_after_s", "expected"),
    [
        ("mine", math.inf, GateStatus.PASS),
        ("mine", 1.0, GateStatus.FAIL),
        ("mine-second", 1.0, GateStatus.FAIL),
    ],
)
def test_a_gate_over_concurrent_phases_has_the_answer_of_one_in_turns(
    tmp_path: Path, where: str, spins_after_s: float, expected: GateStatus
) -> None:
    candidate = Behaviour(spins_after_s=spins_after_s)
    phases = PHASE.format("first") + PHASE.format("second")
    results = gates_of(tmp_path, candidate, 3, phases=phases, where=where, is_concurrent=True)
    assert results == {expected: 3}
