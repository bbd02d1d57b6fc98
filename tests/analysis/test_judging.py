"""Questions that criteria make, the rounds that answer them, and judgements by a criterion."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from tests.criteria import parse
from tests.gate_runs import counted, record_of, rounds, scaled, sides
from tests.records import make_record, measurement, specify, times
from waitbench.analysis import judging
from waitbench.analysis.criteria import DEFAULTS, Criterion
from waitbench.analysis.judging import Judgement, make_questions
from waitbench.analysis.rule import RULE, signed_rank_interval
from waitbench.model.metrics import BY_NAME, METRICS, OWN, STOP, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import CONCURRENT, WARM_UP
from waitbench.model.scenario import Topology
from waitbench.model.verdicts import Verdict

FIRST = RULE.analyses[-2]
"""A single scenario can be within its margin then."""
SYSTEM, ALLOWED, CPU, WAKEUPS = parse(
    ["system:10%", "system:10%,20ms", "cpu:10%", "wakeups:5%"], METRICS
)


def judge(
    *records: ScenarioResults, criteria: Sequence[Criterion] = (SYSTEM,)
) -> tuple[Judgement, ...]:
    questions = make_questions(records, criteria)
    return tuple(judging.judge(question, questions) for question in questions)


def test_the_interval_is_that_of_the_test_that_decides() -> None:
    logs = [0.2 + 0.01 * number for number in range(FIRST)]
    (judgement,) = judge(sides("cpu", [1.0] * FIRST, np.exp(logs).tolist()), criteria=[CPU])
    expected = signed_rank_interval(np.array(logs), RULE.alpha_fail, RULE.alpha_pass)
    assert judgement.ratio is not None
    assert judgement.ratio.value == pytest.approx(math.exp(expected.centre))
    assert judgement.ratio.low == pytest.approx(math.exp(expected.low))
    assert judgement.ratio.high == pytest.approx(math.exp(expected.high))
    assert (judgement.scenario, judgement.scenarios) == ("waiting", ("waiting",))
    assert (judgement.revision, judgement.criterion, judgement.rounds) == ("new", CPU, FIRST)


def test_what_the_runs_do_not_have_is_settled_but_has_no_answer() -> None:
    record = make_record({"a": [times(1, 1, 1)] * 3, "b": [times(1, 1, 1)] * 3})
    (judgement,) = judge(record, criteria=[WAKEUPS])
    assert (judgement.verdict, judgement.is_settled) == (Verdict.NOT_MEASURED, True)
    assert judgement.why_given_up == "the runs do not have wake-ups while waiting"
    assert judgement.rounds == 0


def test_all_pairs_of_several_scenarios_are_one_sample() -> None:
    risen = [1.3 + 0.01 * number for number in range(4)]
    records = [sides("cpu", [1.0] * 4, risen, name) for name in ("a", "b", "c")]
    each = replace(CPU, each=True)
    together, *single = judge(*records, criteria=[CPU, each])
    assert together.fails, "with twelve pairs"
    assert (together.scenario, together.scenarios) == ("3 scenarios together", ("a", "b", "c"))
    assert [judgement.verdict for judgement in single] == [Verdict.INCONCLUSIVE] * 3


def test_an_explanation_that_rose_fails_where_its_cost_did_not_fall_by_a_tenth() -> None:
    for cost, wakeups in ((0.95, 1.2), (0.98, 10.0), (1.0, 1.2), (1.02, 1.2), (2.0, 1.2)):
        (judgement,) = judge(counted("s", wakeups=wakeups, idle=cost), criteria=[WAKEUPS])
        assert (judgement.fails, judgement.is_settled) == (True, True)
        assert judgement.cost_ratio is not None
        assert judgement.cost_ratio.value == pytest.approx(cost, rel=0.01)
    fell = counted("s", wakeups=300.0, idle=0.06)
    (strict,) = judge(fell, criteria=[replace(WAKEUPS, alone=True)])
    assert (strict.fails, strict.cost_ratio) == (True, None)


def test_a_rise_waits_until_a_likely_fall_of_its_cost_can_be_certain() -> None:
    for idle, early, late in (
        (0.7, Verdict.INCONCLUSIVE, Verdict.EXPLAINED),
        (0.95, Verdict.SLOWER, Verdict.SLOWER),
    ):
        record = counted("s", wakeups=1.2, idle=idle)
        (last,) = judge(record, criteria=[WAKEUPS])
        kept = [run for run in record.measurements if run.round in sorted(record.rounds)[:12]]
        (first,) = judge(replace(record, measurements=kept), criteria=[WAKEUPS])
        assert (first.verdict, last.verdict) == (early, late)


def test_a_cost_that_fell_in_the_first_rounds_only_excuses_nothing_later() -> None:
    idle = [0.5] * 11 + [2.0] * 19
    rising = [1.0 + number / 1000 for number in range(11)] + [1.4] * 19
    (judgement,) = judge(counted("s", wakeups=rising, idle=idle), criteria=[WAKEUPS])
    assert judgement.verdict is not Verdict.EXPLAINED


@pytest.mark.parametrize("idle", [0.92, 1.08])
def test_a_cost_that_fell_in_one_scenario_excuses_nothing_in_another(idle: float) -> None:
    records = [
        counted("fell", wakeups=1.0, idle=0.6),
        counted("rose", wakeups=100.0, idle=idle),
    ]
    (judgement,) = judge(*records, criteria=[WAKEUPS])
    assert judgement.cost_ratio is not None
    assert judgement.cost_ratio.value < 0.85, "of both together"
    assert judgement.verdict is not Verdict.EXPLAINED


def test_a_cost_is_excused_by_no_other_and_an_explanation_by_none_that_was_not_measured() -> None:
    for record, criterion in (
        (counted("s", cpu=1.5, idle=0.1, real=0.5), CPU),
        (counted("s", wakeups=1.2), WAKEUPS),
    ):
        (judgement,) = judge(record, criteria=[criterion])
        assert (judgement.fails, judgement.cost_ratio) == (True, None)


def test_a_floor_is_added_to_what_is_allowed() -> None:
    base = rounds(1, 0.010)
    assert judge(record_of(base, scaled(base, system=2)))[0].fails
    (judgement,) = judge(record_of(base, scaled(base, system=2)), criteria=[ALLOWED])
    assert judgement.verdict is Verdict.WITHIN_MARGIN
    assert judgement.ratio is not None
    assert judgement.ratio.value == pytest.approx(20 / 31, rel=0.05), "of what is allowed"
    base = rounds(1, 0.030)
    assert judge(record_of(base, scaled(base, system=2)), criteria=[ALLOWED])[0].fails


@pytest.mark.parametrize("calls", [1, 3, 10])
@pytest.mark.parametrize("metric", ["wakeups", "syscalls"])
def test_a_timer_that_falls_into_some_windows_once_more_passes_and_twice_as_often_fails(
    calls: int, metric: str
) -> None:
    """A sleep of 0.25 s plus 10 ms wakes up 7 or 8 times in 2 s."""
    random = np.random.default_rng(4)
    base, same = (calls * (7.0 + (random.random(30) < 0.5)) for _ in range(2))
    for new, passes in ((same, True), (base * 2, False)):
        record = sides(metric, base.tolist(), new.tolist())
        questions = judge(record, criteria=DEFAULTS)
        (found,) = (one for one in questions if one.criterion.metric.name == metric)
        assert found.verdict is (Verdict.WITHIN_MARGIN if passes else Verdict.SLOWER)


def test_many_counts_have_no_allowance_and_neither_has_what_users_ask() -> None:
    counts = (8.0, 40.0, 400.0)
    very_few, few, many = (sides("wakeups", [count] * 18, [count] * 18) for count in counts)
    for record, criteria, expected in (
        (very_few, DEFAULTS, "wakeups:5%,2"),
        (few, DEFAULTS, "wakeups:5%,5"),
        (many, DEFAULTS, "wakeups:5%"),
        (few, parse(["wakeups:6%"], METRICS), "wakeups:6%"),
    ):
        asked = {str(one.criterion) for one in make_questions([record], criteria)}
        assert expected in asked


def test_what_rises_from_nothing_fails() -> None:
    record = make_record({"a": [times(1, 0, 0)] * FIRST, "b": [times(1, 0, 1)] * FIRST})
    assert judge(record)[0].fails
    assert judge(record, criteria=[replace(SYSTEM, allowance=0.5)])[0].fails
    assert not judge(record, criteria=[replace(SYSTEM, allowance=2.0)])[0].fails


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (0.1, 0.9)])
def test_a_count_that_a_worker_file_declares_fails_below_one(before: float, after: float) -> None:
    dropped = Metric("dropped", f"{OWN}dropped", "count", "dropped")
    sides = {
        label: [{dropped.key: count}] * FIRST for label, count in (("a", before), ("b", after))
    }
    record = specify(make_record(sides), metrics=(*METRICS, dropped))
    criterion = parse(["dropped:10%"], [dropped])
    assert judge(record, criteria=criterion)[0].fails


def test_one_restart_in_each_run_fails_where_there_was_none() -> None:
    restarts = Metric("restarts", "processes_replaced", "count", "restarts")
    sides = {label: [{restarts.key: count}] * FIRST for label, count in (("a", 0.0), ("b", 1.0))}
    record = specify(make_record(sides), metrics=(*METRICS, restarts))
    assert judge(record, criteria=parse(["restarts:10%"], [restarts]))[0].fails


STEADY = BY_NAME["idle"]
TOGETHER, EACH = parse(["idle:10%", "idle:25%,each"], METRICS)


def record(name: str = "one", *values: tuple[float, float], waits: bool = True) -> ScenarioResults:
    """Rounds of a baseline and a candidate, in seconds of idle CPU."""
    base, new = ([{STEADY.key: pair[place]} for pair in values] for place in (0, 1))
    return make_record({"base": base, "new": new}, scenario=name, waits=waits)


def question(*records: ScenarioResults, criterion: Criterion = TOGETHER) -> Judgement:
    (result,) = make_questions(records, [criterion])
    return result


@pytest.mark.parametrize(
    ("pairs", "rounds"),
    [
        ([], 18),
        ([(1, 2)], 9),
        ([(1, 1.05)], 18),
        ([(1e-5, 9e-4)], 18),
        ([(1, 2)] * 5 + [(1, 1)] * 4, 12),
        ([(1, 1)] * 9, 18),
    ],
)
def test_rounds_are_enough_for_a_pass_unless_the_question_may_fail_before(
    pairs: Sequence[tuple[float, float]], rounds: int
) -> None:
    (answer,) = judge(record("one", *pairs), criteria=[TOGETHER])
    assert answer.rounds_needed == rounds - len(pairs)


@pytest.mark.parametrize(("made", "rounds"), [(0, 9), (9, 18), (10, 18), (13, 18), (18, 30)])
def test_concurrent_rounds_go_on_to_an_analysis_with_half_as_many_pairs_more(
    made: int, rounds: int
) -> None:
    pairs = [(1, 1.05), (1, 1.0)] * made
    answer = question(record("one", *pairs[:made]), record("two", *pairs[:made]))
    assert answer.rounds_needed == rounds - made


@pytest.mark.parametrize(("after", "rounds"), [(2.5, 9), (1.5, 18)])
def test_before_the_first_round_warm_ups_show_whether_the_question_may_soon_fail(
    after: float, rounds: int
) -> None:
    compared = record("one")
    for label, cost in (("base", 1.0), ("new", after)):
        compared.add(measurement(label, WARM_UP, {STEADY.key: cost}))
    (answer,) = judge(compared, criteria=[TOGETHER])
    assert answer.rounds_needed == rounds


def test_a_question_with_little_error_cannot_fail_at_nine_rounds() -> None:
    first, *others = parse(["idle:10%", "cpu:10%", "wakeups:5%", "latency:5%"], METRICS)
    keys = ("time_cpu_idle", "time_cpu", "wakeups", "item_latency_p99")
    cheap, costly = dict.fromkeys(keys, 100.0), dict.fromkeys(keys, 300.0)
    compared = make_record({"base": [cheap], "new": [costly]}, waits=True)
    answers = judge(compared, criteria=[first, *others])
    assert [answer.rounds_needed for answer in answers] == [8, 11, 11, 11]


def test_of_eight_scenarios_twelve_questions_are_of_groups_and_one_of_each() -> None:
    waiting = [record(f"waiting-{number}") for number in range(2)]
    working = [record(f"working-{number}", waits=False) for number in range(6)]
    questions = make_questions([*waiting, *working], DEFAULTS)
    assert len([it for it in questions if not it.criterion.each]) == 12
    names = [it.scenario for it in (*waiting, *working)]
    assert sorted(it.scenario for it in questions if it.criterion.each) == names
    assert [(it.scenario, it.criterion.metric.name) for it in questions[:2]] == [
        ("2 waiting scenarios together", "idle"),
        ("2 waiting scenarios together", "cpu"),
    ]


def defaults_of(metric: str, *, waits: bool, works: bool, topology: str = "single") -> set[str]:
    """The default questions about a metric of two scenarios of a kind."""
    key = BY_NAME[metric].key
    runs = {label: [{key: 1.0}] for label in ("base", "new")}
    records = [
        make_record(
            runs, scenario=name, waits=waits, works=works, topology=Topology.parse(topology)
        )
        for name in ("one", "two")
    ]
    criteria = (question.criterion for question in make_questions(records, DEFAULTS))
    return {str(it) for it in criteria if it.metric.name == metric}


LAUNCHED = "launcher, 2 processes"


@pytest.mark.parametrize(
    ("waits", "works", "topology", "expected"),
    [
        (False, True, "single", {"real:10%,50ms"}),
        (False, True, "cluster, 2 processes", {"real:10%,50ms"}),
        # By the launcher a second comes and goes by chance.
        (False, True, LAUNCHED, set()),
        # A schedule, or little but a start and an end.
        (True, True, "single", set()),
        (True, False, "single", set()),
        (False, False, "single", set()),
    ],
)
def test_real_time_is_asked_of_what_works_and_never_waits(
    waits: bool, works: bool, topology: str, expected: set[str]
) -> None:
    assert defaults_of("real", waits=waits, works=works, topology=topology) == expected


@pytest.mark.parametrize("waits", [True, False])
def test_system_time_is_asked_where_the_launcher_starts_the_processes(waits: bool) -> None:
    launched = defaults_of("system", waits=waits, works=not waits, topology=LAUNCHED)
    assert launched == {"system:25%,25ms"}
    assert defaults_of("system", waits=waits, works=not waits) == set()
    assert defaults_of("startup", waits=waits, works=not waits, topology=LAUNCHED) == set()


def test_system_time_that_doubles_is_asked_where_large_changes_are() -> None:
    scenario = record("launcher", *[(1.0, 1.0)] * 3)
    specify(scenario, large_changes_only=True)
    questions = {str(it.criterion) for it in make_questions([scenario], DEFAULTS)}
    assert {"cpu:100%", "system:100%"} <= questions


@pytest.mark.parametrize(("slower_s", "fails"), [(0.0, False), (0.1, False), (0.3, True)])
def test_what_works_as_cheaply_and_takes_longer_fails(slower_s: float, fails: bool) -> None:
    random = np.random.default_rng(1)

    def runs(real_s: float) -> list[dict[str, float]]:
        noise = np.exp(random.normal(0, 0.014, 9))
        return [times(real_s * float(each), 0.8 * float(each), 0.02) for each in noise]

    records = [
        make_record(
            {"base": runs(0.9), "new": runs(0.9 + slower_s)}, scenario=name, waits=False, works=True
        )
        for name in ("one", "two")
    ]
    failed = [str(it.criterion) for it in judge(*records, criteria=DEFAULTS) if it.fails]
    assert failed == ["real:10%,50ms"] * fails


def test_a_single_scenario_is_asked_by_default_for_what_can_be_settled_in_minutes() -> None:
    first, second = record("one"), record("two")
    alone = {str(each.criterion) for each in make_questions([first], DEFAULTS)}
    assert {"idle:15%", "cpu:15%"} <= alone
    assert not {"idle:10%", "cpu:10%", "idle:25%,each"} & alone
    together = {str(each.criterion) for each in make_questions([first, second], DEFAULTS)}
    assert {"idle:10%", "cpu:10%", "idle:25%,each"} <= together
    assert question(first).criterion == TOGETHER, "what users ask stays"
    busy = record("busy", waits=False)
    specify(busy, works=True)
    assert "real:15%,50ms" in {str(each.criterion) for each in make_questions([busy], DEFAULTS)}


@pytest.mark.parametrize(
    ("usual_ms", "expected"), [(0.5, "idle:25%"), (1.9, "idle:25%"), (2.1, "idle:15%")]
)
def test_a_single_scenario_that_uses_little_idle_cpu_may_use_a_quarter_more(
    usual_ms: float, expected: str
) -> None:
    runs = [{"time_cpu_idle": usual_ms / 1e3}] * 3
    record = make_record({"base": runs, "new": runs}, scenario="one")
    criteria = {str(it.criterion) for it in make_questions([record], DEFAULTS)}
    assert {it for it in criteria if it.startswith("idle:")} == {expected}
    asked = (TOGETHER,)
    assert [it.criterion for it in make_questions([record], asked)] == [*asked]


def test_the_defaults_of_each_scenario_only_alarm_and_criteria_of_ones_own_are_judged() -> None:
    questions = make_questions([record("one"), record("two")], (*DEFAULTS, EACH))
    of_each = [it for it in questions if it.criterion.each]
    assert [(it.scenario, it.criterion.can_only_fail) for it in of_each] == [
        ("one", True), ("two", True), ("one", False), ("two", False),
    ]  # fmt: skip
    assert not any(it.criterion.can_only_fail for it in questions if it not in of_each)


def test_pairs_are_of_the_rounds_that_all_scenarios_share_whatever_their_order() -> None:
    first = record("one", (1.0, 2.0), (1.0, 3.0), (1.0, 5.0))
    second = record("two")
    for number, ratio in ((3, 5.0), (4, 9.0), (1, 2.0)):
        second.add(measurement("base", number, {STEADY.key: 1.0}))
        second.add(measurement("new", number, {STEADY.key: ratio}))
    assert question(first, second).pairs(STEADY) == ([1, 3], (((1, 2), (1, 2)), ((1, 5), (1, 5))))


def test_a_scenario_whose_runs_do_not_have_the_metric_is_left_out() -> None:
    has, lacks = record("has", *[(1.0, 1.0)] * 3), record("lacks")
    assert question(has, lacks).records == (has, lacks), "it may come yet"
    lacks.add(measurement("base", 1, {}))
    lacks.add(measurement("new", 1, {}))
    assert question(has, lacks).records == (has,)
    assert question(lacks).records == (lacks,), "nothing is left of it"
    lacks.add(measurement("base", 2, {STEADY.key: 1.0}))
    assert question(has, lacks).records == (has, lacks), "one revision has it, the other does not"


def test_the_first_question_has_most_of_the_error_and_all_others_share_the_rest() -> None:
    """A rise that is just certain for the first question is not for the second of three."""
    logs = [0.2 + 0.01 * number for number in range(FIRST)]
    records = [
        make_record(
            {
                "old": [dict.fromkeys(("time_cpu", "time_wall_clock", "time_user"), 1.0)] * FIRST,
                "new": [
                    dict.fromkeys(("time_cpu", "time_wall_clock", "time_user"), math.exp(log))
                    for log in logs
                ],
            }
        )
    ]
    criteria = parse(["cpu:10%", "real:10%", "user:10%"], METRICS)
    lows = [it.ratio.low for it in judge(*records, criteria=criteria) if it.ratio]
    expected = [
        math.exp(signed_rank_interval(np.array(logs), alpha, RULE.alpha_pass).low)
        for share in (RULE.first_question, *[(1 - RULE.first_question) / 2] * 2)
        for alpha in [RULE.alpha_fail * share]
    ]
    assert lows == pytest.approx(expected)
    assert expected[0] > expected[1]
    assert RULE.alpha == 0.05


def test_copies_of_a_worker_do_not_answer_for_one_by_itself_about_memory_or_lateness() -> None:
    """They share pages, and may answer each other's messages. One round in turns is enough."""
    keys = {"time_cpu_idle": 1.0, "item_latency_p50": 0.1}
    compared = make_record({"base": [keys] * 18, "new": [keys] * 18})
    specify(compared, metrics=(*METRICS, STOP))
    made = compared.measurements
    compared.measurements = [replace(run, marks=(CONCURRENT,)) for run in made]
    criteria = parse(["idle:10%", "latency-p50:10%"], METRICS)
    cpu, lateness = judge(compared, criteria=criteria)
    assert (cpu.verdict, cpu.is_settled) == (Verdict.WITHIN_MARGIN, True)
    assert (lateness.verdict, lateness.is_settled) == (Verdict.INCONCLUSIVE, False)
    assert (lateness.rounds_needed, lateness.awaits_turn) == (1, True)
    for label in ("base", "new"):
        compared.add(measurement(label, 19, keys))
    _, lateness = judge(compared, criteria=criteria)
    assert (lateness.verdict, lateness.is_settled) == (Verdict.WITHIN_MARGIN, True)


def test_cpu_of_others_that_a_first_batch_lacks_is_asked_in_turns() -> None:
    """Others used much beside all of its runs: see ``mark_or_discard``."""
    costs = {"time_cpu_idle": 1.0}
    compared = make_record({"base": [costs] * 9, "new": [costs] * 9})
    compared.measurements = [replace(it, marks=(CONCURRENT,)) for it in compared.measurements]
    (others,) = judge(compared, criteria=parse(["foreign-cpu:25%"], METRICS))
    assert (others.verdict, others.is_settled) == (Verdict.INCONCLUSIVE, False)
    for label in ("base", "new"):
        compared.add(measurement(label, 10, costs))
    (others,) = judge(compared, criteria=parse(["foreign-cpu:25%"], METRICS))
    assert others.verdict is Verdict.NOT_MEASURED, "runs in turns lack it, too"
