"""Rounds whose runs take place at once: which, and what becomes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tests.execution.made_runs import (
    LASTS_S,
    Made,
    Wishes,
    disturbed,
    failing,
    good,
    make_session,
)
from tests.records import measurement, times
from waitbench.execution import plan, session
from waitbench.model.record import Record
from waitbench.model.run import FAILED, PlannedRun, Result

IDLE, WORKING, BUSY = 0.05, 0.9, 1.9
"""Of two CPUs."""


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "cpus", lambda: 2)


def using(cores: Mapping[str, float]) -> Made:
    """What measures runs of which each revision uses so many cores in its window."""

    def run(planned: PlannedRun, _before: int) -> Result:
        metrics = {**times(1, 1, 0), "cpu_share_steady": cores[planned.label]}
        return measurement(planned.label, planned.round, metrics, position=planned.position)

    return Made(run)


@dataclass
class Together(Made):
    """Writes down which runs were made at once."""

    at_once: list[list[tuple[int, str]]] = field(default_factory=list)

    def measure_together(
        self, planned: Sequence[PlannedRun], essential: str | None = None
    ) -> list[Result]:
        self.at_once.append([(run.round, run.label) for run in planned])
        return [self.measure(run) for run in planned]


def carry_out(made: Made, rounds: int, side_by_side: Sequence[str] = ("one",)) -> Record:
    at_work, chosen, records = make_session(made, "one")
    at_work.side_by_side = side_by_side
    at_work.carry_out(plan.schedule(chosen, ["a", "b"], rounds))
    return records["one"]


def until_eight(made: Made, most_rounds: int = 10, budget_s: float = 1e9) -> Record:
    """What a guide makes of it that wants eight rounds."""
    at_work, chosen, records = make_session(made, "one")
    at_work.side_by_side = ("one",)
    wishes = Wishes(lambda record: len(record.of("a")) >= 8, records=records)
    at_work.carry_out_until(wishes, [chosen], ["a", "b"], most_rounds, budget_s)
    return records["one"]


@pytest.mark.parametrize("baseline", [IDLE, BUSY])
def test_the_runs_of_a_round_take_place_at_once_whatever_the_candidate_does(
    baseline: float,
) -> None:
    """Beside a baseline that idles; or that has most CPUs, which nothing can double."""
    made = Together(using({"a": baseline, "b": BUSY}).behave)
    record = carry_out(made, 3)
    # In the order in which they would take turns, warm-up first.
    assert made.at_once[1:] == [
        [(1, "b"), (1, "a")], [(2, "a"), (2, "b")], [(3, "b"), (3, "a")],
    ]  # fmt: skip
    assert [len(record.of(label)) for label in "ab"] == [3, 3]
    began = [(what, label) for what, label in made.said if what in ("begin", "end")]
    assert began[-4:] == [("begin", "b"), ("begin", "a"), ("end", "b"), ("end", "a")]


@pytest.mark.parametrize("cores", [{"a": WORKING, "b": IDLE}, {"a": WORKING, "b": BUSY}, {}])
def test_after_its_first_round_a_baseline_that_works_takes_turns(
    cores: Mapping[str, float],
) -> None:
    """Or that does not say: a kernel may give each run the same, whatever it needs."""
    made = Together(using(cores).behave if cores else good)
    record = carry_out(made, 3)
    assert made.at_once[1:] == [[(1, "b"), (1, "a")]]
    assert [len(record.of(label)) for label in "ab"] == [3, 3]


@pytest.mark.parametrize(
    ("baseline", "rounds_at_once"), [(0.0, 4), (0.05, 4), (0.1, 2), (0.2, 1), (1.9, 1)]
)
def test_for_a_guide_as_many_rounds_are_made_at_once_as_two_cpus_bear(
    baseline: float, rounds_at_once: int
) -> None:
    """The candidate has no say."""
    made = Together(using({"a": baseline, "b": BUSY}).behave)
    record = until_eight(made)
    numbers = [[number for number, label in runs if label == "a"] for runs in made.at_once]
    assert numbers[1:4] == {
        4: [[1], [2, 3, 4, 5], [6, 7, 8, 9]], 2: [[1], [2, 3], [4, 5]], 1: [[1], [2], [3]],
    }[rounds_at_once]  # fmt: skip
    made_rounds = [run.round for run in record.of("b")]
    assert made_rounds == list(range(1, len(made_rounds) + 1)), "each round once"
    assert 8 <= len(made_rounds) <= 9


def test_a_budget_counts_what_is_made_at_once_as_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])
    made = Together(using({"a": IDLE, "b": IDLE}).behave)
    # Nothing takes time here; there are 25 s, and a run takes 10.
    until_eight(made, 6, 2 * LASTS_S + 5)
    assert len(made.at_once[2]) == 2 * session.ROUNDS_AT_ONCE


@pytest.mark.parametrize(("side_by_side", "cpus"), [((), 2), (("one",), 1)])
def test_runs_take_turns_where_they_do_not_idle_or_there_is_no_cpu_for_each(
    side_by_side: Sequence[str], cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "cpus", lambda: cpus)
    made = Together(using({"a": IDLE, "b": IDLE}).behave)
    carry_out(made, 3, side_by_side)
    assert not made.at_once


def test_what_others_use_beside_all_of_a_round_repeats_and_mutes_nothing() -> None:
    """A candidate may have others work for it, and cannot be told from them."""

    def run(planned: PlannedRun, before: int) -> Result:
        if planned.round > 1:
            return disturbed(planned)
        return using({"a": IDLE, "b": IDLE}).behave(planned, before)

    made = Together(run)
    record = carry_out(made, 2)
    assert made.at_once[-1] == [(2, "a"), (2, "b")]
    assert (record.disturbed_rounds, record.outcomes) == (frozenset(), [])


def test_a_round_in_turns_after_it_counts_as_behind_a_candidates_run() -> None:
    """What is still at work may be what the candidate left: nothing takes that back."""

    def run(planned: PlannedRun, before: int) -> Result:
        if planned.scenario.name == "two":
            return disturbed(planned)
        return using({"a": IDLE, "b": IDLE}).behave(planned, before)

    made = Together(run)
    at_work, chosen, records = make_session(made, "one", "two")
    at_work.side_by_side = ("one",)
    at_work.carry_out(plan.schedule(chosen[:1], ["a", "b"], 3))
    assert made.at_once[-1] == [(3, "b"), (3, "a")]
    at_work.carry_out(plan.one_round(chosen[1], ["a", "b"], 2))
    assert made.runs.count(("two", 2, "a")) == 1
    assert records["two"].disturbed_rounds == {2}


def test_who_is_given_up_has_no_part_in_it() -> None:
    def run(planned: PlannedRun, before: int) -> Result:
        if planned.label == "b":
            return failing(FAILED)(planned, before)
        return using({"a": IDLE}).behave(planned, before)

    made = Together(run)
    record = carry_out(made, 4)
    assert len(record.of("a")) == 4
    assert made.told("skip")
    assert all(len(runs) == 2 for runs in made.at_once)


def test_a_run_that_failed_at_once_with_others_is_not_made_again() -> None:
    """Else its round would be of two moments, and a candidate that fails now and then passes."""

    def run(planned: PlannedRun, before: int) -> Result:
        if (planned.round, planned.label, before) == (4, "b", 0):
            return failing(FAILED)(planned, before)
        return using({"a": IDLE, "b": IDLE}).behave(planned, before)

    made = Together(run)
    record = until_eight(made)
    assert made.runs.count(("one", 4, "b")) == 1
    assert [one.round for one in record.failures] == [4]
