"""The questions that criteria make, and the rounds that answer them."""

from tests.records import make_record, measurement, outcome
from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.judging import Judgement, ask
from waitbench.model.metrics import BY_NAME, METRICS
from waitbench.model.record import Record
from waitbench.pipeline.criteria import parse

STEADY = BY_NAME["steady"]
TOGETHER, EACH = parse(["steady:10%", "steady:25%,each"], METRICS)


def record(name: str = "one", *values: tuple[float, float], waits: bool = True) -> Record:
    """Rounds of a baseline and a candidate, in seconds of steady CPU."""
    base, new = ([{STEADY.key: pair[place]} for pair in values] for place in (0, 1))
    return make_record({"base": base, "new": new}, scenario=name, waits=waits)


def question(*records: Record, criterion: Criterion = TOGETHER) -> Judgement:
    (found,) = ask(records, [criterion])
    return found


def test_of_eight_scenarios_twelve_questions_are_of_groups_and_one_of_each() -> None:
    waiting = [record(f"waiting-{number}") for number in range(2)]
    working = [record(f"working-{number}", waits=False) for number in range(6)]
    asked = ask([*waiting, *working], DEFAULTS)
    assert len([one for one in asked if not one.criterion.each]) == 12
    names = [one.scenario for one in (*waiting, *working)]
    assert sorted(one.place for one in asked if one.criterion.each) == names
    assert [(one.place, one.criterion.metric.name) for one in asked[:2]] == [
        ("2 waiting scenarios together", "steady"),
        ("2 waiting scenarios together", "cpu"),
    ]


def test_a_single_scenario_is_asked_by_default_for_what_can_be_settled_in_minutes() -> None:
    one, two = record("one"), record("two")
    alone = {str(each.criterion) for each in ask([one], DEFAULTS)}
    assert {"steady:15%", "cpu:15%"} <= alone
    assert not {"steady:10%", "cpu:10%", "steady:25%,each"} & alone
    together = {str(each.criterion) for each in ask([one, two], DEFAULTS)}
    assert {"steady:10%", "cpu:10%", "steady:25%,each"} <= together
    assert question(one).criterion == TOGETHER, "what users ask stays"


def test_the_defaults_of_each_scenario_only_alarm_and_criteria_of_ones_own_are_judged() -> None:
    asked = ask([record("one"), record("two")], (*DEFAULTS, EACH))
    of_each = [one for one in asked if one.criterion.each]
    assert [(one.place, one.criterion.only_alarms) for one in of_each] == [
        ("one", True), ("two", True), ("one", False), ("two", False),
    ]  # fmt: skip
    assert not any(one.criterion.only_alarms for one in asked if one not in of_each)


def test_pairs_are_of_the_rounds_that_all_scenarios_share_whatever_their_order() -> None:
    one = record("one", (1.0, 2.0), (1.0, 3.0), (1.0, 5.0))
    two = record("two")
    for number, ratio in ((3, 5.0), (4, 9.0), (1, 2.0)):
        two.add(measurement("base", number, {STEADY.key: 1.0}))
        two.add(measurement("new", number, {STEADY.key: ratio}))
    assert question(one, two).pairs(STEADY) == ([1, 3], (((1, 2), (1, 2)), ((1, 5), (1, 5))))


def test_a_question_is_of_the_scenarios_that_both_revisions_can_run() -> None:
    able, unable = record("able", (1.0, 1.0)), record("unable")
    unable.add(outcome("base", 0, "not-supported"))
    assert question(able, unable).records == (able,)
    assert ask([unable], [TOGETHER]) == ()


def test_a_scenario_whose_runs_do_not_have_the_metric_is_left_out() -> None:
    has, lacks = record("has", *[(1.0, 1.0)] * 3), record("lacks")
    assert question(has, lacks).records == (has, lacks), "it may come yet"
    lacks.add(measurement("base", 1, {}))
    lacks.add(measurement("new", 1, {}))
    assert question(has, lacks).records == (has,)
    assert question(lacks).records == (lacks,), "nothing is left of it"
    lacks.add(measurement("base", 2, {STEADY.key: 1.0}))
    assert question(has, lacks).records == (has, lacks), "one revision has it, the other does not"
