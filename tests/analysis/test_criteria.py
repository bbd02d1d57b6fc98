"""Criteria, as they are written, the questions they make, and the rounds that answer them."""

from dataclasses import replace

import pytest

from tests.records import make_record, measurement, outcome, times
from waitbench.analysis import criteria
from waitbench.analysis.criteria import DEFAULTS, Criterion, Question, ask, parse
from waitbench.model.errors import UsageError
from waitbench.model.metrics import BY_NAME, METRICS, Instruments, Metric
from waitbench.model.record import Record


@pytest.mark.parametrize(
    ("text", "name", "margin", "floor", "alone"),
    [
        ("system:10%", "system", 0.10, 0.0, False),
        ("wakeups:5%,alone", "wakeups", 0.05, 0.0, True),
        ("steady:0.07%", "steady", 0.0007, 0.0, False),
        (" real:5% ", "real", 0.05, 0.0, False),
        ("polls:50%", "polls", 0.50, 0.0, False),
        ("polls-per-item:9999%", "polls-per-item", 99.99, 0.0, False),
        ("steady:0%", "steady", 0.0, 0.0, False),
        ("system:10%,20ms", "system", 0.10, 0.020, False),
        ("system:10%,alone", "system", 0.10, 0.0, True),
        ("system:2.5%,1.5s,alone", "system", 0.025, 1.5, True),
        ("system:2.5%, alone , 30 us", "system", 0.025, 30e-6, True),
        ("startup:1%,7µs", "startup", 0.01, 7e-6, False),
        ("polls:1%,7", "polls", 0.01, 7.0, False),
        ("rss:20%,5MiB", "rss", 0.20, 5 * 2**20, False),
        ("rss:20%,5kib", "rss", 0.20, 5 * 2**10, False),
        ("rss:20%,5B", "rss", 0.20, 5, False),
        ("rss:20%,", "rss", 0.20, 0, False),
    ],
)
def test_criteria_are_read(text: str, name: str, margin: float, floor: float, alone: bool) -> None:
    (criterion,) = criteria.parse([text], METRICS)
    assert (criterion.metric.name, criterion.alone) == (name, alone)
    assert (criterion.margin, criterion.floor) == pytest.approx((margin, floor))


FORM = r"^--fail-on '{}' is not METRIC:PERCENT%, such as steady:10%, or system:10%,20ms, or "
MARGIN = r"^--fail-on '{}': the margin must be 0 % or more, and below 10,000 %\.$"
PERCENT = r"^--fail-on '{}': '{}' is not a number of per cent, such as steady:10%"
ALONE = (
    r"^--fail-on '{}': 'alone' is for what explains a cost, and is otherwise judged with it: "
    r"system \(cpu\), .*wakeups \(steady\).*\. cpu explains none\.$"
)
FLOOR = r"^--fail-on '{}': '{}' is neither a floor for {}, such as {}, nor 'alone' or 'each'\.$"
TWICE = r"^--fail-on '{}' has {}: name one\.$"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, FORM.format(text)) for text in ("", "system", "system:", "system:10", "10%")),
        *((text, FORM.format(text)) for text in (":10%", "system:10%%", "SYSTEM:10%")),
        *((text, MARGIN.format(text)) for text in ("system:-5%", "system:nan%", "system:inf%")),
        ("system:10000%", MARGIN.format("system:10000%")),
        ("system:x%", PERCENT.format("system:x%", "x")),
        ("system:10%,x", FLOOR.format("system:10%,x", "x", "system", "20ms")),
        (
            "system:10%,20 parsecs",
            FLOOR.format("system:10%,20 parsecs", "20 parsecs", "system", "20ms"),
        ),
        ("system:10%,1ms!", FLOOR.format("system:10%,1ms!", "1ms!", "system", "20ms")),
        ("system:10%,5MiB", FLOOR.format("system:10%,5MiB", "5MiB", "system", "20ms")),
        ("rss:10%,5ms", FLOOR.format("rss:10%,5ms", "5ms", "rss", "20B")),
        ("polls:10%,5ms", FLOOR.format("polls:10%,5ms", "5ms", "polls", "20")),
        ("cpu:10%,alone", ALONE.format("cpu:10%,alone")),
        ("cpu:10%,5ms,20ms", TWICE.format("cpu:10%,5ms,20ms", "two floors, '5ms' and '20ms'")),
        ("cpu:10%,5ms, 5ms", TWICE.format("cpu:10%,5ms, 5ms", "two floors, '5ms' and '5ms'")),
        ("cpu:10%,each,each", TWICE.format("cpu:10%,each,each", "'each' twice")),
        ("cpu:10%,20%", FLOOR.format("cpu:10%,20%", "20%", "cpu", "20ms")),
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
    ("text", "shown"),
    [
        ("system:10%", "system:10%"),
        ("system:2.5%, alone,20ms", "system:2.5%,20ms,alone"),
        ("cpu:10%,each,1.5s", "cpu:10%,1.5s,each"),
        ("wakeups:7%,each,alone", "wakeups:7%,alone,each"),
        ("startup:1%,7us", "startup:1%,7us"),
        ("startup:1%,0.25us", "startup:1%,0.25us"),
        ("rss:20%,5MiB", "rss:20%,5MiB"),
        ("rss:20%,5000000", "rss:20%,4882.8125KiB"),
        ("rss:20%,1000", "rss:20%,1000B"),
        ("polls:1%,1234567", "polls:1%,1234567"),
        ("cpu:0%", "cpu:0%"),
    ],
)
def test_a_criterion_shows_as_it_would_be_written(text: str, shown: str) -> None:
    (criterion,) = criteria.parse([text], METRICS)
    assert str(criterion) == shown
    assert criteria.parse([shown], METRICS) == (criterion,)


@pytest.mark.parametrize(
    ("instruments", "lacking"),
    [(Instruments(), ["syscalls"]), (Instruments(tracepoint=17), [])],
)
def test_what_needs_an_instrument_is_measured_with_it(
    instruments: Instruments, lacking: list[str]
) -> None:
    assert [c.metric.name for c in DEFAULTS if not criteria.is_measured(c, instruments)] == lacking


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


def test_dear_runs_of_a_scenario_are_looked_for_once() -> None:
    together, *single = ask([record("one"), record("two")], [TOGETHER, EACH])
    assert together.asks_dear
    assert not any(one.asks_dear for one in single)
    assert all(one.asks_dear for one in ask([record("one"), record("two")], [EACH]))


def test_dear_runs_are_looked_for_where_no_group_has_the_scenario() -> None:
    default, own = DEFAULTS[0], replace(EACH, metric=DEFAULTS[0].metric)
    records = [record("one"), record("two"), record("busy", waits=False)]
    asked = {one.place: one.asks_dear for one in ask(records, [default, own])}
    assert asked == {
        "2 waiting scenarios together": True, "one": False, "two": False, "busy": True,
    }  # fmt: skip


def test_a_candidate_that_lacks_what_the_baseline_has_gives_no_answer() -> None:
    both = record("one")
    lacking = make_record({"a": [{**times(1, 1, 1), "wakeups": 9}] * 6, "b": [times(1, 1, 1)] * 6})
    wakeups = parse(["wakeups:5%"], METRICS)
    (asked,) = ask([lacking], wakeups)
    assert asked.narrowed() is None
    assert replace(asked, records=(both, lacking)).narrowed() is None


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


def test_a_question_is_narrowed_to_the_scenarios_that_both_revisions_can_run() -> None:
    able, unable = record("able", (1.0, 1.0)), record("unable")
    unable.add(outcome("base", 0, "not-supported"))
    asked = question(able, unable)
    narrowed = asked.narrowed()
    assert narrowed is not None
    assert narrowed.records == (able,)
    assert asked.unsupported == ("unable",)
    assert question(unable).narrowed() is None


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
    assert (narrowed.place, narrowed.pairs(STEADY)[0]) == ("has", [1, 2, 3])


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
