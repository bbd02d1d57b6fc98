"""What becomes of concurrent runs: those that fail, differ or are interrupted."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from tests.execution.made_runs import (
    IDLE,
    ONE,
    QUIET,
    WORKER_FILE,
    MadeUpCommand,
    Together,
    concurrent_rounds,
    failing,
    giving,
    make_rounds,
    make_session,
    measured,
    using,
)
from tests.records import context, measurement, outcome, times
from waitbench.analysis.criteria import DEFAULTS
from waitbench.analysis.rounds import why_interleaved
from waitbench.execution import concurrency
from waitbench.execution.measure import InterruptedRuns
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    FAILED,
    INTERFERED,
    SUPERSEDED,
    Lack,
    Measurement,
    PlannedRun,
    Result,
)
from waitbench.system import shutdown

pytestmark = pytest.mark.usefixtures("two_cpus")


def fails_at(*runs: tuple[int, str]) -> Callable[[PlannedRun, int], Result]:
    """What idles but fails at its first try in some rounds."""

    def run(planned: PlannedRun, before: int) -> Result:
        if before == 0 and (planned.round, planned.label) in runs:
            return failing(FAILED)(planned, before)
        return using().behave(planned, before)

    return run


@pytest.mark.parametrize("failed", [[(3, "a"), (2, "b")], [(3, "b")]])
@pytest.mark.parametrize("guided", [True, False])
def test_what_fails_beside_others_at_first_has_all_take_turns(
    guided: bool, failed: list[tuple[int, str]]
) -> None:
    made = Together(fails_at(*failed))
    record = measured(made, guided=guided)
    assert concurrent_rounds(made) == [[2, 3, 4, 5]]
    crowded = [(run.round, run.label) for run in record.failed_runs if run.reason == INTERFERED]
    assert sorted(crowded) == [(number, label) for number in (2, 3, 4, 5) for label in "ab"]
    assert record.failures == []
    for label in "ab":
        made_rounds = [run.round for run in record.of(label)]
        assert made_rounds == list(range(1, len(made_rounds) + 1))
        assert len(made_rounds) >= 8


def test_what_fails_again_in_turns_counts() -> None:
    def run(planned: PlannedRun, before: int) -> Result:
        if (planned.round, planned.label) == (2, "b"):
            return failing(FAILED)(planned, before)
        return fails_at((3, "a"))(planned, before)

    record = measured(Together(run), guided=False)
    assert [(run.round, run.label) for run in record.failures] == [(2, "b")]


@pytest.mark.parametrize(("deaf_in_turns", "at_once"), [(False, 1), (True, 2)])
def test_what_answers_in_turns_alone_has_all_take_turns(deaf_in_turns: bool, at_once: int) -> None:
    """It may be that another copy got its message. What never answers, is deaf."""
    lack = {"item_latency_p50": Lack(why="no answer", more_than=2.0)}

    def run(planned: PlannedRun, before: int) -> Result:
        is_alone = planned.round not in range(2, 6) or before > 0
        is_deaf = planned.label == "b" and (deaf_in_turns or not is_alone)
        metrics = {**QUIET, "cpu_share_idle": IDLE}
        incomplete = lack if is_deaf else {}
        return measurement(planned.label, planned.round, metrics, incomplete=incomplete)

    made = Together(run)
    record = measured(made, guided=False)
    assert len(made.at_once) == at_once
    crowded = {run.message for run in record.failed_runs if run.reason == INTERFERED}
    assert crowded == (set() if deaf_in_turns else {"a run of b failed beside others: no answer"})
    assert any(run.incomplete for run in record.of("b")) is deaf_in_turns


@pytest.mark.parametrize("over", [3, 0])
def test_what_was_over_when_a_batch_is_interrupted_is_kept(over: int) -> None:
    class Ends(Together):
        def measure(
            self, *planned: PlannedRun, turns_s: Sequence[float] = (), lanes: int = 1
        ) -> list[Result]:
            results = super().measure(*planned, turns_s=turns_s)
            if planned[0].round < 6:
                return results
            metrics = {**times(1, 1, 0), "cpu_share_idle": IDLE}
            raise InterruptedRuns(
                [(run, measurement(run.label, run.round, metrics)) for run in planned[:over]]
            )

    made = Ends(using().behave)
    at_work, _, records = make_session(made, "one", concurrency=ONE)
    with pytest.raises(shutdown.Interrupted):
        make_rounds(at_work, [WORKER_FILE], 9)
    saved = [(run.round, run.label) for run in records["one"].measurements if run.round > 5]
    assert saved == made.at_once[1][:over]
    record = records["one"]
    assert [result for _, result in made.heard("keep")] == [*record.warm_ups, *record.measurements]
    # These say nothing of the CPU of others, so the next batch is made at once.
    assert at_work.concurrent_rounds(WORKER_FILE) > 1


def test_what_fails_in_a_later_batch_than_the_first_counts() -> None:
    made = Together(fails_at((7, "a")))
    record = measured(made, guided=False)
    assert concurrent_rounds(made) == [[2, 3, 4, 5], [6, 7, 8, 9]]
    assert [(run.round, run.label) for run in record.failures] == [(7, "a")]


@pytest.mark.parametrize(("foreign_s", "is_known"), [(0.9, True), (1.1, False)])
def test_what_others_used_beside_nobody_knows_whom_is_asked_in_turns(
    foreign_s: float, is_known: bool
) -> None:
    """But what is allowed even if all of it is of the candidates is none of their doing."""
    made = giving(lambda run: {"machine_foreign_cpu": foreign_s * (2 <= run.round <= 5)})
    record = measured(made, guided=False)
    assert concurrent_rounds(made) == [[2, 3, 4, 5], *([[6, 7, 8, 9]] if is_known else [])]
    lacking = {run.round for run in record.measurements if "machine_foreign_cpu" not in run.metrics}
    assert lacking == (set() if is_known else {2, 3, 4, 5})
    assert all("cpu_share_idle" in run.metrics for run in record.measurements)


@pytest.mark.parametrize(("foreign_s", "is_known"), [(2.4, True), (2.6, False)])
def test_the_usual_load_is_not_counted_among_what_others_used(
    foreign_s: float, is_known: bool
) -> None:
    record = ScenarioResults(spec=MadeUpCommand(name="one"), context=context(["a", "b"]))
    run = measurement("b", 2, {**QUIET, "machine_foreign_cpu": foreign_s})
    (judged,) = concurrency.mark_or_discard(
        record, MadeUpCommand(name="one"), [run], 2, usual_s=2.0, baseline_cores=0.0
    )
    assert isinstance(judged, Measurement)
    assert ("machine_foreign_cpu" in judged.metrics) is is_known


@pytest.mark.parametrize(("reason", "expected"), [(SUPERSEDED, [[4, 5, 6]]), (INTERFERED, [])])
def test_rounds_of_before_a_resume_stay_and_say_whether_runs_take_turns(
    reason: str, expected: list[list[int]]
) -> None:
    made = using()
    metrics = {**QUIET, "cpu_share_idle": IDLE}
    runs = [measurement(label, number, metrics) for number in (1, 2, 3) for label in "ab"]
    record = measured(made, before=[*runs, outcome("b", 4, reason)])
    assert concurrent_rounds(made)[:1] == expected
    assert [run.round for run in record.of("a")[:8]] == list(range(1, 9))


def idling(alone: float, at_once: float, *, odd: Sequence[int] = ()) -> Together:
    """Runs of which the candidate's cost so much by themselves, or beside others.

    In ``odd`` rounds they cost two fifths more.
    """

    def used(run: PlannedRun) -> Mapping[str, float]:
        new_s = (at_once if made.beside > 1 else alone) * (1.4 if run.round in odd else 1)
        return {"time_cpu_idle": 0.1 if run.label == "a" else new_s}

    made = giving(used)
    return made


def judged(made: Together, rounds: int = 9, enough: int = 8) -> ScenarioResults:
    """Rounds of a gate that discards concurrent ones if they differ."""
    differing = partial(why_interleaved, criteria=DEFAULTS)
    return measured(made, rounds=rounds, differing=differing, enough=enough)


@pytest.mark.parametrize(("alone", "at_once"), [(0.14, 0.1), (0.1, 0.14)])
def test_where_rounds_at_once_tell_something_else_all_take_turns(
    alone: float, at_once: float
) -> None:
    """A lock of another copy, for one, hides that a candidate costs more; or has it cost more."""
    record = judged(idling(alone, at_once))
    runs = record.of("b")
    assert [run.round for run in runs] == list(range(1, len(runs) + 1))
    assert len(runs) >= 8
    assert {run.metrics["time_cpu_idle"] for run in runs} == {alone}
    crowded = {run.round for run in record.failed_runs if run.reason == INTERFERED}
    assert crowded == {2, 3, 4, 5}
    assert record.failures == []


@pytest.mark.parametrize(
    ("odd", "batches"), [((1,), [[2, 3, 4, 5], [7, 8, 9]]), ((1, 6), [[2, 3, 4, 5], [8, 9]])]
)
def test_two_odd_rounds_by_themselves_have_a_guide_make_more_and_discard_none(
    odd: Sequence[int], batches: Sequence[Sequence[int]]
) -> None:
    made = idling(0.1, 0.1, odd=odd)
    record = judged(made)
    assert concurrent_rounds(made) == batches
    assert record.failed_runs == []


@pytest.mark.parametrize("most_rounds", [5, 9])
def test_a_pass_waits_for_rounds_that_tell_whether_those_at_once_are_right(
    most_rounds: int,
) -> None:
    """Where no such round can follow, those at once are discarded as well."""
    record = judged(idling(0.14, 0.1), most_rounds, enough=5)
    assert {run.metrics["time_cpu_idle"] for run in record.of("b")} == {0.14}


def test_what_spins_goes_on_at_once_as_both_kinds_of_rounds_say_so() -> None:
    assert CONCURRENT in judged(idling(1.4, 0.7)).of("b")[-1].marks
