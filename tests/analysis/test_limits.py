"""Limits: absolute budgets, and the frequency of wrong answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from typing import cast

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import ArrayLike

from tests.criteria import parse
from tests.records import make_record, outcome, specify, times
from waitbench.analysis import gate
from waitbench.analysis.criteria import Acceptance
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import make_questions
from waitbench.analysis.rule import RULE, RuleResult, judge_limit
from waitbench.model.metrics import MEMORY, METRICS, STOP, WINDOW, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import NOT_SUPPORTED
from waitbench.model.verdicts import GateStatus, Verdict

HALF_PERCENT = "limit idle:0.5%"
WINDOW_S = 2.0


def judge(shares: Sequence[float]) -> RuleResult:
    """By the latest look, of one question."""
    look = RULE.latest_analysis(len(shares))
    pairs = tuple(((0.005, 0.005 * float(share)),) for share in shares[:look])
    return judge_limit(pairs, alpha=RULE.alpha_fail)


def gates(count: int, draw: Callable[[np.random.Generator], ArrayLike]) -> Counter[Verdict | None]:
    """The answers of so many gates, each as of the first look that has one."""
    random = np.random.default_rng(11)
    counts = Counter[Verdict | None]()
    for _ in range(count):
        shares = np.ravel(draw(random)).tolist()
        looked = [judge(shares[:look]).verdict for look in RULE.analyses]
        answers = [it for it in looked if it is not Verdict.INCONCLUSIVE]
        counts[answers[0] if answers else Verdict.INCONCLUSIVE] += 1
    return counts


def noisy(share: float) -> Callable[[np.random.Generator], ArrayLike]:
    return lambda random: share * np.exp(random.normal(0, 0.15, 30))


def rarely_far_above(random: np.random.Generator) -> ArrayLike:
    """The usual run is well below the limit, and the mean is above."""
    return noisy(0.8)(random) * np.where(random.random(30) < 0.2, 50, 1)


def skewed(random: np.random.Generator) -> ArrayLike:
    """Half of the runs without any, the others with twice the limit: their mean is at the limit."""
    return 2.0 * (random.random(30) < 0.5)


@pytest.mark.parametrize(
    ("draw", "passes", "fails"),
    [
        (noisy(0.8), (0.95, 1), (0, RULE.alpha)),
        (noisy(1.0), (0, RULE.alpha), (0, RULE.alpha)),
        (noisy(1.25), (0, RULE.alpha), (0.95, 1)),
        (rarely_far_above, (0, RULE.alpha), (0, 1)),
        (skewed, (0, RULE.alpha), (0, RULE.alpha)),
    ],
)
def test_what_is_a_quarter_off_its_limit_is_answered_and_nothing_is_answered_wrongly(
    draw: Callable[[np.random.Generator], ArrayLike],
    passes: tuple[float, float],
    fails: tuple[float, float],
) -> None:
    counts = gates(200, draw)
    assert passes[0] <= counts[Verdict.WITHIN_MARGIN] / 200 <= passes[1]
    assert fails[0] <= counts[Verdict.SLOWER] / 200 <= fails[1]


def test_nothing_is_below_every_limit() -> None:
    limit = judge([0.0] * 18)
    assert limit.ratio is not None
    assert (limit.verdict, limit.ratio.value, limit.ratio.high) == (Verdict.WITHIN_MARGIN, 0.0, 0.0)


def of_shares(**cores: float) -> ScenarioResults:
    """Eighteen runs of each revision, with so many cores busy and ten wake-ups in each window."""
    runs = {
        label: [
            {
                **times(3, 0.1, 0.1),
                "time_cpu_idle": share * WINDOW_S,
                "cpu_share_idle": share,
                "wakeups": 10.0,
            }
        ]
        * 18
        for label, share in cores.items()
    }
    return make_record(runs)


def verdict_of(record: ScenarioResults, *texts: str) -> GateVerdict:
    return gate.conclude([record], parse(texts, METRICS))


def test_of_several_only_candidates_are_judged() -> None:
    verdict = verdict_of(of_shares(a=0.9, b=0.004), HALF_PERCENT)
    assert verdict.outcome is GateStatus.PASS
    assert [it.revision for it in verdict.judgements] == ["b"]


def test_a_revision_is_not_compared_with_itself() -> None:
    assert make_questions([of_shares(a=0.004)], parse(["idle:10%"], METRICS)) == ()


def test_rises_and_limits_are_one_list() -> None:
    texts = ("idle:10%", HALF_PERCENT, "limit wakeups:6/s")
    verdict = verdict_of(of_shares(a=0.008, b=0.008), *texts)
    verdicts = {str(it.criterion): it.verdict.value for it in verdict.judgements}
    assert verdicts == dict(zip(texts, ("within margin", "slower", "within margin"), strict=True))
    assert verdict.outcome is GateStatus.FAIL


@pytest.mark.parametrize(("limit", "verdict"), [("4/s", "slower"), ("6/s", "within margin")])
def test_counts_are_taken_by_the_second_of_the_window(limit: str, verdict: str) -> None:
    (answer,) = verdict_of(of_shares(a=0.004), f"limit wakeups:{limit}").judgements
    assert answer.verdict.value == verdict
    assert answer.ratio is not None
    assert answer.ratio.value == pytest.approx(10.0 / WINDOW_S / float(limit[0]))


@pytest.mark.parametrize(("limit", "verdict"), [("20%", "slower"), ("30%", "within margin")])
def test_what_services_use_counts_where_the_worker_itself_used_no_cpu(
    limit: str, verdict: str
) -> None:
    service_cpu = Metric("service-cpu", "service_cpu_idle", "second", "the services' CPU")
    record = of_shares(a=0.0)
    specify(record, metrics=(*METRICS, service_cpu))
    for run in record.measurements:
        used = {WINDOW: WINDOW_S, "service_cpu_idle": 0.25 * WINDOW_S}
        cast(dict[str, float], run.metrics).update(used)
    (answer,) = gate.conclude(
        [record], parse([f"limit service-cpu:{limit}"], record.metrics)
    ).judgements
    assert answer.verdict.value == verdict, answer.why_given_up


def test_a_limit_is_not_accepted_for_a_time() -> None:
    acceptance = Acceptance(criterion="share", scenario="*", reason="known", until=date(2999, 1, 1))
    criteria = parse([HALF_PERCENT], METRICS)
    (answer,) = gate.judge_all([of_shares(a=0.009)], criteria, acceptances=[acceptance])
    assert answer.fails


def test_a_limit_is_judged_where_the_baseline_is_not_supported() -> None:
    record = of_shares(a=0.004, b=0.9)
    record.measurements = record.of("b")
    record.add(outcome("a", 0, NOT_SUPPORTED))
    verdict = verdict_of(record, "idle:10%", HALF_PERCENT)
    assert [(str(it.criterion), it.fails) for it in verdict.judgements] == [(HALF_PERCENT, True)]
    # Copies of a worker may share memory: rounds of the baseline, if there are any, would show it.
    memory = [structs.replace(it, metrics={"memory_proportional": 9e7}) for it in record.of("b")]
    record.measurements = memory
    specify(record, metrics=(*METRICS, MEMORY, STOP))
    (judged,) = gate.conclude([record], parse(["limit memory:80MB"], (MEMORY,))).judgements
    assert judged.fails
