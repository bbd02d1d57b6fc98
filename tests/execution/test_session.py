"""Carrying out a plan: repeated rounds, revisions that are given up, a budget that runs out."""

import pytest

from tests.execution.made_runs import Made, carry_out, disturbed, failing, good
from tests.records import measurement, times
from waitbench.model.record import GIVE_UP_AFTER
from waitbench.model.run import (
    DISTURBED,
    FAILED,
    NOT_SUPPORTED,
    TIMED_OUT,
    PlannedRun,
    Result,
)


def test_a_disturbed_round_is_repeated_whole_and_its_runs_are_set_aside() -> None:
    def disturb_once(planned: PlannedRun, before: int) -> Result:
        disturbs = planned.round == 2 and planned.label == "a" and before == 0
        return disturbed(planned) if disturbs else plain(planned)

    def plain(planned: PlannedRun) -> Result:
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
    assert [(o.label, o.reason) for o in record.outcomes] == [("a", DISTURBED), ("b", DISTURBED)]
    assert "0.70 s of CPU" in record.outcomes[0].message
    # What was kept of the disturbed runs is taken back on disk, too.
    kept = [result for _, result in made.told("keep")]
    assert [result for result in kept if result in record.outcomes] == record.outcomes


def test_a_round_in_which_a_run_failed_is_not_repeated_and_the_failure_stays() -> None:
    def crash(planned: PlannedRun, before: int) -> Result:
        crashes = planned.label == "b" and planned.round == 2
        return failing("failed")(planned, before) if crashes else disturbed(planned)

    made = Made(crash)
    record = carry_out(made, 2, "one")["one"]
    assert made.runs.count(("one", 2, "a")) == 1
    assert {(one.label, one.round) for one in record.failures} == {("b", 2)}
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
    assert made.told("skip") == ["b"] * (5 - tried)
    assert len(record.of("a")) == 4


def test_on_a_machine_that_is_always_busy_one_round_is_repeated_and_all_are_marked() -> None:
    """In every other round b is first: a's run may have what it left, and is not made again."""
    made = Made(lambda planned, _before: disturbed(planned))
    record = carry_out(made, 6, "one")["one"]
    tries = [made.runs.count(("one", number, "a")) for number in range(1, 7)]
    assert tries == [1, 2, 1, 1, 1, 1]
    assert record.disturbed_rounds == {1, 2, 3, 4, 5, 6}
    assert [run.marks for run in record.measurements] == [(DISTURBED,)] * 12
    assert [(one.label, one.round) for one in record.outcomes] == [("a", 2), ("b", 2)]
