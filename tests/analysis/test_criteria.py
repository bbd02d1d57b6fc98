"""Criteria, as they are written, the questions they make, and the rounds that answer them."""

import pytest

from tests.records import make_record, measurement, outcome, times
from waitbench.analysis import criteria
from waitbench.analysis.criteria import DEFAULTS, Criterion, Question, ask, parse
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME, METRICS, Metric
from waitbench.model.record import Record


@pytest.mark.parametrize(
    ("text", "name", "margin", "floor", "alone"),
    [
        ("system:10%", "system", 0.10, 0.0, False),
        ("wakeups:5%,alone", "wakeups", 0.05, 0.0, True),
        ("steady:0.07%", "steady", 0.0007, 0.0, False),
        (" real:5% ", "real", 0.05, 0.0, False),
        ("polls-per-item:9999%", "polls-per-item", 99.99, 0.0, False),
        ("steady:0%", "steady", 0.0, 0.0, False),
        ("system:10%,20ms", "system", 0.10, 0.020, False),
        ("system:2.5%,1500.5ms,alone", "system", 0.025, 1.5005, True),
        ("polls:1%,7", "polls", 0.01, 7.0, False),
        ("rss:20%,5MiB", "rss", 0.20, 5 * 2**20, False),
    ],
)
def test_criteria_are_read(text: str, name: str, margin: float, floor: float, alone: bool) -> None:
    (criterion,) = criteria.parse([text], METRICS)
    assert (criterion.metric.name, criterion.alone) == (name, alone)
    assert (criterion.margin, criterion.floor) == pytest.approx((margin, floor))


FORM = (
    r"^--fail-on '{}' is not METRIC:PERCENT%\[,FLOOR\]\[,alone\]\[,each\], such as steady:10%, or "
)
ALONE = (
    r"^--fail-on '{}': 'alone' is for what explains a cost, such as wakeups, and cpu explains none"
)
FLOOR = r"^--fail-on '{}': a floor for {} is written as {}\.$"
MALFORMED = (
    *("", "system", "system:", "system:10", "10%", ":10%", "system:10%%", "SYSTEM:10%"),
    *("system:-5%", "system:nan%", "system:x%", "system:10000%", "system:10%,x", "system:10%,"),
    *("system:10%,20 parsecs", "system:10%,1ms!", "cpu:10%,5ms,20ms", "cpu:10%,20%"),
    *("cpu:10%,each,each", "wakeups:5%,each,alone", "system:10%,alone,20ms"),
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, FORM.format(text)) for text in MALFORMED),
        ("system:10%,20s", FLOOR.format("system:10%,20s", "system", "20ms")),
        ("system:10%,5MiB", FLOOR.format("system:10%,5MiB", "system", "20ms")),
        ("rss:10%,5ms", FLOOR.format("rss:10%,5ms", "rss", "20MiB")),
        ("polls:10%,5ms", FLOOR.format("polls:10%,5ms", "polls", "20")),
        ("cpu:10%,alone", ALONE.format("cpu:10%,alone")),
    ],
)
def test_a_bad_criterion_is_refused_with_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        criteria.parse([text], METRICS)


def test_an_unknown_metric_names_those_there_are() -> None:
    known = (Metric("calls", "calls", "count", "calls"), *METRICS[:2])
    message = "^--fail-on 'cals:10%': there is no metric 'cals'. There are: calls, real, user.$"
    with pytest.raises(UsageError, match=message):
        criteria.parse(["cals:10%"], known)
    (criterion,) = criteria.parse(["calls:10%"], known)
    assert criterion.metric is known[0]


@pytest.mark.parametrize(
    "text",
    [
        *("system:10%", "system:2.5%,20ms,alone", "cpu:10%,1500ms,each", "wakeups:7%,alone,each"),
        *("startup:1%,0.007ms", "rss:20%,5MiB", "rss:20%,0.25MiB", "polls:1%,1234567", "cpu:0%"),
    ],
)
def test_a_criterion_shows_as_it_is_written(text: str) -> None:
    (criterion,) = criteria.parse([text], METRICS)
    assert str(criterion) == text


STEADY = BY_NAME["steady"]
TOGETHER, EACH = parse(["steady:10%", "steady:25%,each"], METRICS)


def record(name: str = "one", *values: tuple[float, float], waits: bool = True) -> Record:
    """Rounds of a baseline and a candidate, in seconds of steady CPU."""
    base, new = ([{STEADY.key: pair[place]} for pair in values] for place in (0, 1))
    return make_record({"base": base, "new": new}, scenario=name, waits=waits)


def question(*records: Record, criterion: Criterion = TOGETHER) -> Question:
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
    own = parse(["steady:10%"], METRICS)
    assert [each.criterion for each in ask([one], own)] == [*own], "what users ask stays"


def test_the_defaults_of_each_scenario_only_alarm_and_criteria_of_ones_own_are_judged() -> None:
    asked = ask([record("one"), record("two")], (*DEFAULTS, EACH))
    judged = {one.place for one in asked if one.criterion.metric == STEADY and not one.only_alarms}
    assert judged == {"2 waiting scenarios together", "one", "two"}
    by_default = [one for one in asked if one.criterion.each and one.criterion in DEFAULTS]
    assert [one.only_alarms for one in by_default] == [True, True]


def test_a_candidate_that_lacks_what_the_baseline_has_gives_no_answer() -> None:
    lacking = make_record({"a": [{**times(1, 1, 1), "wakeups": 9}] * 6, "b": [times(1, 1, 1)] * 6})
    wakeups = parse(["wakeups:5%"], METRICS)
    (asked,) = ask([lacking], wakeups)
    assert asked.answering() == asked
    assert asked.pairs(wakeups[0].metric)[0] == []


def test_pairs_are_of_the_rounds_that_all_scenarios_share_whatever_their_order() -> None:
    one = record("one", (1.0, 2.0), (1.0, 3.0), (1.0, 5.0))
    two = record("two")
    for number, ratio in ((3, 5.0), (4, 9.0), (1, 2.0)):
        two.add(measurement("base", number, {STEADY.key: 1.0}))
        two.add(measurement("new", number, {STEADY.key: ratio}))
    numbers, pairs = question(one, two).pairs(STEADY)
    assert numbers == [1, 3]
    assert pairs.tolist() == [[[1, 2], [1, 2]], [[1, 5], [1, 5]]]


def test_a_round_in_which_one_revision_lacks_the_metric_does_not_count() -> None:
    partly = record("one", (1.0, 2.0), (1.0, 3.0))
    partly.add(measurement("base", 3, {STEADY.key: 1.0}))
    partly.add(measurement("new", 3, {"time_cpu": 1.0}))
    assert question(partly).pairs(STEADY)[0] == [1, 2]


def test_next_to_nothing_counts_as_the_floor_of_the_metric() -> None:
    _, pairs = question(record("one", (0.0, 0.5))).pairs(STEADY)
    assert pairs.tolist() == [[[STEADY.floor, 0.5]]]


def test_a_question_is_of_the_scenarios_that_both_revisions_can_run() -> None:
    able, unable = record("able", (1.0, 1.0)), record("unable")
    unable.add(outcome("base", 0, "not-supported"))
    assert question(able, unable).records == (able,)
    assert ask([unable], [TOGETHER]) == ()


def test_a_scenario_whose_runs_do_not_have_the_metric_is_left_out() -> None:
    has = record("has", *[(1.0, 1.0)] * 3)
    lacks = record("lacks")
    asked = question(has, lacks)
    assert asked.answering() == asked, "it may come yet"
    lacks.add(measurement("base", 1, {}))
    assert asked.answering() == asked
    lacks.add(measurement("new", 1, {}))
    narrowed = asked.answering()
    assert (narrowed.place, narrowed.pairs(STEADY)[0]) == ("has", [1, 2, 3])
    assert question(lacks).answering() == question(lacks), "nothing is left of it"


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
