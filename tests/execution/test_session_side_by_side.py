"""Which rounds take place at once."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from tests.execution.made_runs import (
    BUSY,
    IDLE,
    LASTS_S,
    ONE,
    QUIET,
    WORKER_FILE,
    WORKING,
    MadeUp,
    Together,
    carry_out,
    concurrent_rounds,
    disturbed,
    giving,
    good,
    make_rounds,
    make_session,
    measured,
    using,
)
from tests.records import context, measurement, outcome
from waitbench.execution import concurrency
from waitbench.execution.concurrency import Concurrency
from waitbench.model.record import ScenarioResults
from waitbench.model.run import (
    CONCURRENT,
    INTERFERED,
    WARM_UP,
    PlannedRun,
    Result,
)
from waitbench.model.scenario import CurvePoint, Scenario

pytestmark = pytest.mark.usefixtures("two_cpus")
DATAFLOW = MadeUp(name="one", large_changes_only=True)
WAITING = MadeUp(name="one")


POINT = CurvePoint(scenario="one", parameter="n", value=1)


def test_a_warm_up_after_a_resume_joins_no_measured_round() -> None:
    """As would one for which the rounds before the resume say that several fit."""
    made = using()
    at_work, _, records = make_session(made, "one", concurrency=ONE)
    for label in "ab":
        records["one"].add(measurement(label, 1, {**QUIET, "cpu_share_idle": IDLE}))
    make_rounds(at_work, [WORKER_FILE], 5)
    assert concurrent_rounds(made) == [[2, 3, 4, 5]]
    assert sorted(run for run in made.runs if run[1] == 0) == [("one", 0, "a"), ("one", 0, "b")]


@pytest.mark.parametrize("baseline", [IDLE, BUSY])
def test_the_runs_of_a_round_take_place_at_once_whatever_the_candidate_does(
    baseline: float,
) -> None:
    """Beside a baseline that idles; or that has most CPUs, which nothing can double."""
    made = using(baseline, BUSY)
    record = carry_out(made, 3, "one", concurrency=ONE)["one"]
    # In the order in which they would take turns; warm-ups do, and show the load of others.
    assert made.runs[:2] == [("one", WARM_UP, "a"), ("one", WARM_UP, "b")]
    assert made.at_once == [
        [(1, "b"), (1, "a")], [(2, "a"), (2, "b")], [(3, "b"), (3, "a")],
    ]  # fmt: skip
    assert [len(record.of(label)) for label in "ab"] == [3, 3]
    began = [(what, label) for what, label in made.events if what in ("begin", "end")]
    assert began[-4:] == [("begin", "b"), ("begin", "a"), ("end", "b"), ("end", "a")]


@pytest.mark.parametrize("made", [using(WORKING), using(WORKING, BUSY), Together(good)])
def test_after_its_first_round_a_baseline_that_works_takes_turns(made: Together) -> None:
    """Or that does not say: a kernel may give each run the same, whatever it needs."""
    record = carry_out(made, 3, "one", concurrency=ONE)["one"]
    assert made.at_once == [[(1, "b"), (1, "a")]]
    assert [len(record.of(label)) for label in "ab"] == [3, 3]


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (0.05, [[1], [2, 3, 4, 5], [6, 7, 8, 9]]),
        (0.1, [[1], [2, 3], [4, 5]]),
        (0.2, [[1], [2], [3]]),
        (1.9, [[1], [2], [3]]),
    ],
)
def test_for_a_guide_as_many_rounds_are_made_at_once_as_two_cpus_bear(
    baseline: float, expected: list[list[int]]
) -> None:
    """The candidate has no say."""
    made = using(baseline, BUSY)
    record = measured(made, DATAFLOW)
    assert concurrent_rounds(made)[:3] == expected
    made_rounds = [run.round for run in record.of("b")]
    assert made_rounds == list(range(1, len(made_rounds) + 1)), "each round once"
    assert 8 <= len(made_rounds) <= 9


def test_after_a_resume_all_warm_up_where_an_earlier_batch_was_discarded() -> None:
    made = using()
    measured(made, before=[outcome(label, 1, INTERFERED) for label in "ab"])
    assert made.runs[:2] == [("one", WARM_UP, label) for label in "ab"]
    assert not made.at_once


def test_concurrent_rounds_end_where_an_answer_is_possible() -> None:
    made = using()
    measured(made, rounds=30, needed=3)
    assert concurrent_rounds(made)[0] == [2, 3, 4]


def test_a_batch_is_smaller_where_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: 0.0)
    # There are 20 s: a round in turns takes as long, and a batch 10 s, and 1.5 s for each run.
    takes_s = {
        "time_startup": 1.0,
        "time_cpu_startup": 2.0,
        "time_stop": 0.5,
        "time_cpu_shutdown": 1.0,
    }
    made = giving(lambda _run: {"cpu_share_idle": IDLE / 4, **takes_s})
    measured(made, rounds=9, budget_s=20.0)
    assert concurrent_rounds(made)[0] == [2, 3, 4]


def test_concurrent_runs_take_at_most_half_of_the_available_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "available_memory", lambda: 1200)

    made = giving(lambda _run: {"cpu_share_idle": IDLE, "memory_proportional": 100.0})
    measured(made, rounds=8)
    assert concurrent_rounds(made)[0] == [2, 3, 4]
    # They free half of it before their windows; a single run uses what the run before has freed.
    assert made.heard("prefault") == [2 * 100 * len(runs) for runs in made.at_once]


def test_the_memory_of_services_counts_with_that_of_their_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "available_memory", lambda: 1200)
    memory = {"memory_proportional": 50.0, "service_memory": 50.0}
    made = giving(lambda _run: {"cpu_share_idle": IDLE, **memory})
    measured(made, rounds=8)
    assert concurrent_rounds(made)[0] == [2, 3, 4]
    assert made.heard("prefault") == [(50 + 100) * len(runs) for runs in made.at_once]


def test_a_budget_counts_what_is_made_at_once_as_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("waitbench.execution.session.time.monotonic", lambda: now[0])
    made = using()
    # Nothing takes time here; there are 25 s, and a run takes 10.
    measured(made, DATAFLOW, rounds=9, budget_s=2 * LASTS_S + 5)
    assert len(made.at_once[1]) == 2 * DATAFLOW.most_concurrent_rounds


@pytest.mark.parametrize(("side_by_side", "cpus"), [((), 2), (("one",), 1.5)])
def test_runs_take_turns_where_they_do_not_idle_or_there_is_no_cpu_for_each(
    side_by_side: Sequence[str], cpus: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "usable_cpus", lambda: cpus)
    made = using()
    carry_out(made, 3, "one", concurrency=Concurrency(side_by_side))
    assert not made.at_once


@pytest.mark.parametrize(
    ("kind", "revisions", "expected"),
    [
        (DATAFLOW, 2, 4),
        (DATAFLOW, 3, 0),
        (DATAFLOW, 1, 0),
        (replace(DATAFLOW, name="two"), 2, 0),
        (WORKER_FILE, 2, 4),
        (replace(DATAFLOW, scan=POINT), 2, 1),
        (WAITING, 2, 1),
        (replace(WORKER_FILE, scan=POINT), 2, 0),
    ],
)
def test_the_most_rounds_at_once_are_known_before_the_first(
    kind: Scenario, revisions: int, expected: int
) -> None:
    assert ONE.most_rounds(kind, revisions) == expected


@pytest.mark.parametrize(
    ("cpus", "cores", "guided", "expected"),
    [
        (2, 1.0, True, [[2], [3], [4]]),
        (2, 2.0, True, []),
        (4, 2.0, True, [[2], [3], [4]]),
        (4, 1.0, True, [[2, 3], [4]]),
        (2, 1.0, False, []),
    ],
)
def test_runs_of_a_dataflow_that_waits_begin_at_once_if_a_cpu_starts_each(
    cpus: int,
    cores: float,
    guided: bool,
    expected: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One round in turns shows how many CPUs start the baseline; a comparison has all in turns."""
    monkeypatch.setattr(concurrency, "usable_cpus", lambda: cpus)
    starts = {"time_cpu_startup": 0.2 * cores, "time_startup": 0.2}
    made = giving(lambda _run: {"cpu_share_idle": 0.06, **starts})
    measured(made, WAITING, rounds=4, guided=guided)
    assert concurrent_rounds(made) == expected


@pytest.mark.parametrize("baseline", [IDLE, 1.0])
def test_a_dataflow_that_waits_takes_turns_if_its_baseline_spins(baseline: float) -> None:
    """Though no candidate can use twice as much: small changes count."""
    starts = {"time_cpu_startup": 0.2, "time_startup": 0.2}
    made = giving(lambda _run: {"cpu_share_idle": baseline, **starts})
    measured(made, WAITING, rounds=4)
    assert bool(made.at_once) is (baseline == IDLE)


def test_a_dataflow_that_waits_takes_turns_once_others_used_more_than_is_allowed() -> None:
    """A candidate may have another program work for it, which its partner would share."""
    starts = {"time_cpu_startup": 0.2, "time_startup": 0.2, "cpu_share_idle": IDLE}
    made = giving(lambda run: {**starts, "machine_foreign_cpu": 0.3 * (run.round == 2)})
    record = measured(made, WAITING, rounds=4)
    assert concurrent_rounds(made) == [[2]]
    lacking = {run.round for run in record.measurements if "machine_foreign_cpu" not in run.metrics}
    assert lacking == {2}


def test_what_others_use_beside_all_of_a_round_repeats_and_mutes_nothing() -> None:
    """A candidate may have others work for it, and cannot be told from them."""

    def run(planned: PlannedRun, before: int) -> Result:
        if planned.round > 1:
            return disturbed(planned)
        return using().behave(planned, before)

    made = Together(run)
    record = carry_out(made, 2, "one", concurrency=ONE)["one"]
    assert made.at_once[-1] == [(2, "a"), (2, "b")]
    assert (record.disturbed_rounds, record.failed_runs) == (frozenset(), [])


def test_an_interleaved_round_after_it_counts_as_behind_a_candidates_run() -> None:
    """What is still at work may be what the candidate left: nothing takes that back."""

    def run(planned: PlannedRun, before: int) -> Result:
        if planned.scenario.name == "two":
            return disturbed(planned)
        return using().behave(planned, before)

    made = Together(run)
    at_work, chosen, records = make_session(made, "one", "two", concurrency=ONE)
    for label in "ab":
        records["two"].add(measurement(label, 1, QUIET))
    make_rounds(at_work, chosen, 3)
    assert made.at_once[-1] == [(3, "b"), (3, "a")]
    following = made.runs.index(("two", 2, "a"))
    assert made.runs[following - 1] == ("one", 3, "a"), "in the batch"
    assert made.runs.count(("two", 2, "a")) == 1
    assert records["two"].disturbed_rounds == {2, 3}


@pytest.mark.parametrize("guided", [True, False])
@pytest.mark.parametrize(
    ("baseline", "expected"),
    [(0.05, [[2, 3, 4, 5], [6, 7, 8, 9]]), (0.2, []), (0.9, []), (1.9, [])],
)
def test_of_a_worker_file_the_first_interleaved_round_decides_whether_several_fit(
    baseline: float, expected: list[list[int]], guided: bool
) -> None:
    made = using(baseline, BUSY)
    record = measured(made, guided=guided)
    assert concurrent_rounds(made) == expected
    assert [run.round for run in record.of("b")] == list(range(1, len(record.of("a")) + 1))
    beside = {run.round for run in record.measurements if CONCURRENT in run.marks}
    assert beside == {number for numbers in expected for number in numbers}


@pytest.mark.parametrize(
    ("metrics", "lanes"),
    [
        ({"time_cpu_startup": 0.24, "time_startup": 0.2}, 2),
        ({"time_cpu_startup": 0.26, "time_startup": 0.2}, 1),
        ({"time_cpu_startup": 0.4, "time_startup": 0.0}, 1),
        ({"time_cpu_startup": 0.22}, 1),
    ],
)
def test_workers_start_at_the_same_time_if_each_has_the_cpus_that_it_uses(
    metrics: Mapping[str, float], lanes: int
) -> None:
    made = giving(lambda _run: {"cpu_share_idle": IDLE, **metrics})
    measured(made)
    assert made.lanes == lanes


@pytest.mark.parametrize(
    ("scenario", "is_adaptive", "near", "expected"),
    [
        (WORKER_FILE, True, False, [[2, 3, 4, 5], [6, 7, 8, 9]]),
        (WORKER_FILE, True, True, []),
        (WORKER_FILE, False, False, []),
        (WAITING, True, False, []),
    ],
)
def test_rounds_of_a_single_revision_are_made_at_once_for_a_limit_with_room(
    scenario: Scenario, is_adaptive: bool, near: bool, expected: list[list[int]]
) -> None:
    made = using()
    record = ScenarioResults(spec=scenario, context=context(["a"]))
    allowed = Concurrency(("one",), lambda _record: "little room" * near, is_adaptive)
    session = made.session({"one": record}, allowed)
    session.carry_out(lambda _name: 99 * (len(record.of("a")) < 9), [[scenario]], ["a"], 9)
    assert concurrent_rounds(made) == expected
    assert len(record.of("a")) == 9


@pytest.mark.parametrize(
    ("may_skip_turn", "guided", "first"),
    [
        (True, True, [1, 2, 3, 4]),
        # A limit is about a worker without copies, and so are the figures of a comparison.
        (False, True, [2, 3, 4, 5]),
        (False, False, [2, 3, 4, 5]),
    ],
)
def test_after_the_warm_ups_the_first_rounds_are_concurrent_in_a_gate_without_limits(
    may_skip_turn: bool, guided: bool, first: list[int]
) -> None:
    made = using()
    record = measured(made, may_skip_turn=may_skip_turn, guided=guided, enough=9)
    assert concurrent_rounds(made)[0] == first
    assert record.interleaved_rounds == ({1} if first[0] == 2 else set())


def test_a_first_batch_leaves_a_round_that_can_take_turns() -> None:
    made = using()
    measured(made, may_skip_turn=True, rounds=4, enough=4)
    assert made.runs[2:][-2:] == [("one", 4, "a"), ("one", 4, "b")]
    assert concurrent_rounds(made) == [[1, 2, 3]]


@pytest.mark.parametrize(("candidate", "first"), [(0.15, [1, 2, 3, 4]), (0.3, [1, 2]), (0.6, [2])])
def test_a_first_batch_has_the_cpus_that_the_warm_ups_used(
    candidate: float, first: list[int]
) -> None:
    """Else the only figures of a candidate that spins would be those of a spin on few CPUs."""
    cores = {"a": 0.05, "b": candidate}
    made = giving(lambda run: {"cpu_share_idle": cores[run.label]})
    measured(made, rounds=8, may_skip_turn=True)
    assert concurrent_rounds(made)[0][: len(first)] == first


def test_a_first_batch_has_the_memory_that_the_warm_ups_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("waitbench.execution.concurrency.available_memory", lambda: 1000)
    memory = {"a": 20.0, "b": 230.0}
    made = giving(lambda run: {"memory_proportional": memory[run.label]})
    measured(made, rounds=8, may_skip_turn=True)
    assert concurrent_rounds(made)[0] == [1, 2]


@pytest.mark.parametrize(("later", "is_kept"), [(0.05, True), (0.4, False)])
def test_a_first_batch_whose_workers_grow_busy_after_a_second_is_repeated_in_turns(
    later: float, is_kept: bool
) -> None:
    """As they do when a time-out passes: on CPUs that all want, each uses as much as the other."""
    made = giving(lambda run: {"cpu_share_idle": later if run.round else 0.01})
    record = measured(made, rounds=9, may_skip_turn=True)
    following = [[5, 6, 7], [8, 9]] if is_kept else []
    assert concurrent_rounds(made) == [[1, 2, 3, 4], *following]
    messages = {run.message for run in record.failed_runs}
    assert messages == (set() if is_kept else {"the baseline's runs used 1.6 CPUs together"})
    assert [run.round for run in record.of("b")][:8] == [*range(1, 9)]


def test_what_the_services_of_a_baseline_use_counts_with_it() -> None:
    costs = {"cpu_share_idle": 0.02, "service_cpu_idle": 6.0 * 0.06, "time_window": 6.0}
    made = giving(lambda _run: costs)
    measured(made, rounds=5, guided=False)
    # With these it uses 0.08 cores: three rounds at once are possible, four are not.
    assert concurrent_rounds(made) == [[2, 3], [4, 5]]


@pytest.mark.parametrize("candidate_s", [3.0, 40.0])
def test_earlier_runs_decide_how_long_each_start_and_each_end_has_the_cpus(
    candidate_s: float,
) -> None:
    """A candidate's start counts, too, so that it does not slow down the next if it computes."""

    def used(planned: PlannedRun) -> Mapping[str, float]:
        used_s = 0.1 + 0.01 * planned.round
        if planned.label == "b":
            return {"time_cpu_startup": candidate_s * used_s, "time_cpu_shutdown": 9.0}
        return {"time_cpu_startup": 4 * used_s, "time_cpu_shutdown": used_s}

    made = giving(used)
    measured(made, guided=False)
    starts_s, ends_s = zip(*made.alone_s, strict=True)
    assert starts_s == pytest.approx([0.1 + 2 * it * max(4.0, candidate_s) for it in (0.11, 0.15)])
    assert ends_s == pytest.approx([0.1 + 2 * 0.11, 0.1 + 2 * 0.15])
