"""What runs, and in which order."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from waitbench.execution import plan
from waitbench.model.scenario import Family, Scenario

FAMILY = Family(name="standin", items=lambda _parameters, _topology: 1, lasts_s=lambda _: 1.0)
ONE, TWO, THREE = (
    Scenario(name=name, purpose="to be planned", family=FAMILY, module=Path("flow.py"))
    for name in ("one", "two", "three")
)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 3))
def test_every_round_runs_every_revision_once_and_each_is_first_equally_often(
    revisions: int, rounds: int, count: int
) -> None:
    labels = [f"r{number}" for number in range(revisions)]
    chosen = (ONE, TWO, THREE)[:count]
    runs = plan.schedule(chosen, labels, rounds)
    assert len(runs) == count * (rounds + 1) * revisions
    for place, scenario in enumerate(chosen):
        firsts = []
        for number in range(rounds + 1):
            start = (place * (rounds + 1) + number) * revisions
            one_round = runs[start : start + revisions]
            assert {(run.scenario.name, run.round) for run in one_round} == {
                (scenario.name, number)
            }, "close together in time"
            assert sorted(run.label for run in one_round) == labels
            assert [run.position for run in one_round] == list(range(revisions))
            firsts.append(one_round[0].label)
        per_label = [firsts.count(label) for label in labels]
        assert max(per_label) - min(per_label) <= 1


def test_the_order_turns_by_one_place_from_round_to_round() -> None:
    runs = plan.schedule([ONE], ["a", "b", "c"], 2)
    assert "".join(run.label for run in runs) == "abc" + "bca" + "cab"
    assert [run.round for run in runs] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_what_is_missing_keeps_warm_ups_only_where_something_is_left() -> None:
    runs = plan.schedule([ONE, TWO], ["a", "b"], 2)
    done = {("one", label, number) for label in "ab" for number in (1, 2)} | {("two", "a", 1)}
    left = plan.missing(runs, done)
    assert {run.scenario.name for run in left} == {"two"}
    assert [(run.label, run.round) for run in left] == [
        ("a", 0), ("b", 0), ("b", 1), ("a", 2), ("b", 2),
    ]  # fmt: skip


def test_a_revision_that_is_done_is_not_warmed_up_again() -> None:
    runs = plan.schedule([ONE], ["a", "b"], 1)
    left = plan.missing(runs, {("one", "a", 1)})
    assert [(run.label, run.round) for run in left] == [("b", 0), ("b", 1)]


def test_nothing_is_missing_of_a_plan_that_is_done() -> None:
    runs = plan.schedule([ONE, TWO], ["a", "b"], 2)
    assert plan.missing(runs, {(run.scenario.name, run.label, run.round) for run in runs}) == ()
