"""The questions that the gate asks, and the rounds that answer them."""

import math

import pytest

from tests.records import make_record, measurement, outcome, working_engines
from waitbench.analysis.criteria import DEFAULTS, Criterion, Question, ask, parse
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.record import Record

STEADY = BY_NAME["steady"]
TOGETHER, EACH = parse(["steady:10%,together", "steady:25%"], METRICS)


def record(name: str = "one", *values: tuple[float, float], waits: bool = True) -> Record:
    """Rounds of a baseline and a candidate, in seconds of steady CPU."""
    base, new = ([{STEADY.key: pair[place]} for pair in values] for place in (0, 1))
    return make_record({"base": base, "new": new}, scenario=name, waits=waits)


def question(*records: Record, criterion: Criterion = TOGETHER) -> Question:
    (found,) = ask(records, [criterion])
    return found


def test_each_scenario_is_asked_about_by_itself_unless_together() -> None:
    asked = ask([record("one"), record("two")], [EACH, TOGETHER])
    assert [(one.place, str(one.criterion)) for one in asked] == [
        ("2 scenarios together", "steady:10%,together"),
        ("one", "steady:25%"),
        ("two", "steady:25%"),
    ]


def test_every_candidate_is_asked_about() -> None:
    three = make_record({"a": [], "b": [], "c": []})
    asked = ask([three], [EACH, TOGETHER])
    assert [(one.label, one.criterion) for one in asked] == [
        ("b", TOGETHER), ("c", TOGETHER), ("b", EACH), ("c", EACH),
    ]  # fmt: skip


def test_the_defaults_ask_twenty_one_questions_of_eight_scenarios() -> None:
    waiting = [record(f"waiting-{number}") for number in range(2)]
    working = [record(f"working-{number}", waits=False) for number in range(6)]
    asked = ask([*waiting, *working], DEFAULTS)
    assert len(asked) == 21
    assert [(one.place, one.criterion.metric.name) for one in asked[:3]] == [
        ("2 waiting scenarios together", "steady"),
        ("2 waiting scenarios together", "steady"),
        ("2 waiting scenarios together", "cpu"),
    ]


def test_a_criterion_without_any_scenario_of_its_group_is_not_asked() -> None:
    asked = ask([record("busy", waits=False)], DEFAULTS)
    assert {one.criterion.metric.name for one in asked} == {"cpu"}


def test_the_steady_phase_of_engines_that_work_elsewhere_is_not_asked_about() -> None:
    criteria = parse(["steady:10%", "wakeups:5%", "cpu:10%"], METRICS)
    asked = ask([working_engines()], criteria)
    assert [one.criterion.metric.name for one in asked] == ["cpu"]


def test_one_scenario_together_goes_by_its_name() -> None:
    assert question(record("one")).place == "one"


def test_a_round_is_the_ratio_of_its_runs_and_what_it_rose_by() -> None:
    first, second = question(record("one", (1.0, 2.0), (4.0, 3.0))).rounds(STEADY)
    assert (first.log, first.rise) == pytest.approx((math.log(2), 1.0))
    assert (second.log, second.rise) == pytest.approx((math.log(0.75), -1.0))
    assert not first.disturbed


def test_together_a_round_is_the_mean_over_the_scenarios() -> None:
    one, two = record("one", (1.0, 2.0)), record("two", (10.0, 80.0))
    (found,) = question(one, two).rounds(STEADY)
    assert (found.log, found.rise) == pytest.approx((math.log(math.sqrt(2 * 8)), 35.5))


def test_together_only_rounds_that_all_scenarios_share_count_whatever_their_order() -> None:
    one = record("one", (1.0, 2.0), (1.0, 3.0), (1.0, 5.0))
    two = record("two")
    for number, ratio in ((3, 5.0), (4, 9.0), (1, 2.0)):
        two.add(measurement("base", number, {STEADY.key: 1.0}))
        two.add(measurement("new", number, {STEADY.key: ratio}))
    found = question(one, two).rounds(STEADY)
    assert [math.exp(one.log) for one in found] == pytest.approx([2.0, 5.0])


def test_a_round_in_which_one_revision_lacks_the_metric_does_not_count() -> None:
    partly = record("one", (1.0, 2.0), (1.0, 3.0))
    partly.add(measurement("base", 3, {STEADY.key: 1.0}))
    partly.add(measurement("new", 3, {"time_cpu": 1.0}))
    assert len(question(partly).rounds(STEADY)) == 2


def test_a_question_is_narrowed_to_the_scenarios_that_both_revisions_can_run() -> None:
    able, unable = record("able", (1.0, 1.0)), record("unable")
    unable.add(outcome("base", 0, "not-supported"))
    asked = question(able, unable)
    narrowed = asked.narrowed()
    assert narrowed is not None
    assert narrowed.records == (able,)
    assert asked.unsupported == ("unable",)
    assert question(unable).narrowed() is None


def test_what_another_candidate_cannot_run_is_no_matter() -> None:
    three = make_record({"a": [], "b": [], "c": []})
    three.add(outcome("c", 0, "not-supported"))
    about_b, about_c = ask([three], [EACH])
    assert (about_b.unsupported, about_c.unsupported) == ((), ("waiting",))


def test_a_scenario_whose_runs_do_not_have_the_metric_is_left_out_at_the_first_look() -> None:
    has = record("has", *[(1.0, 1.0)] * 3)
    lacks = make_record({"base": [{}] * 2, "new": [{}] * 2}, scenario="lacks")
    asked = question(has, lacks)
    assert asked.narrowed() == asked, "it may come yet"
    lacks.add(measurement("base", 3, {}))
    assert asked.narrowed() == asked
    lacks.add(measurement("new", 3, {}))
    narrowed = asked.narrowed()
    assert narrowed is not None
    assert (narrowed.place, len(narrowed.rounds(STEADY))) == ("has", 3)


def test_the_cost_is_what_the_metric_explains_where_there_is_one() -> None:
    wakeups, alone = parse(["wakeups:5%", "wakeups:5%,alone"], METRICS)
    assert question(record(), criterion=wakeups).cost == STEADY
    assert question(record(), criterion=alone).cost is None
    assert question(record()).cost is None


def test_of_some_of_its_scenarios_a_question_has_a_margin_as_much_wider_as_it_scatters() -> None:
    four = question(*(record(name) for name in ("one", "two", "three", "four")))
    one = four.within({"two"})
    assert one is not None
    assert (one.is_partial, one.place) == (True, "two")
    assert one.criterion.margin == pytest.approx(1.1**2 - 1)
    all_of_them = {"one", "two", "three", "four", "five"}
    assert (four.within(all_of_them), four.within({"five"})) == (four, None)
