"""Estimates, paired ratios, and their verdicts."""

import math
from random import Random

import pytest
from scipy import stats

from tests.records import make_record, measurement, times
from waitbench.analysis import statistics
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import ScenarioResults
from waitbench.model.verdicts import Estimate, Verdict

T_2 = 4.302652729911275
"""The 97.5 % quantile of Student's t with 2 degrees of freedom."""


def ratios_of(record: ScenarioResults, scenarios: int = 1) -> dict[str, Estimate]:
    """The ratios of the first candidate, by the metric's name."""
    figures = statistics.compare(record, scenarios=scenarios).figures[record.context.labels[1]]
    return {it.metric.name: it.ratio for it in figures if it.ratio is not None}


def test_ratios_are_paired_within_rounds() -> None:
    # The machine drifts tenfold; within each round the candidate takes exactly half.
    base = [times(n, n, n) for n in (1.0, 3.0, 10.0)]
    record = make_record({"a": base, "b": [times(n / 2, n / 2, 1) for n in (1.0, 3.0, 10.0)]})
    ratio = ratios_of(record)["user"]
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))
    assert ratio.count == 3
    assert ratio.verdict is Verdict.FASTER


@pytest.mark.parametrize("freedom", [*range(1, 32), 100, 999, math.inf])
def test_quantiles_of_t_are_those_of_scipy(freedom: float) -> None:
    for share in (0.5, 0.6, 0.975, 0.9995, 1 - 1e-7):
        expected = stats.t.ppf(share, freedom)
        assert statistics.t_quantile(share, freedom) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_intervals_are_students_t() -> None:
    mean = statistics.mean([10.0, 20.0, 30.0])
    half = T_2 * 10 / math.sqrt(3)
    # The lower end would be negative: a time cannot be.
    assert (mean.value, mean.low, mean.count) == (20.0, 0.0, 3)
    assert mean.high == pytest.approx(20 + half, rel=1e-9)
    assert statistics.mean([101.0, 102.0, 103.0]).low == pytest.approx(102 - half / 10, rel=1e-9)
    ratio = statistics.geometric_mean([1, 2, 3])
    assert ratio.value == pytest.approx(math.exp(2))
    assert ratio.count == 3
    assert ratio.low == pytest.approx(math.exp(2 - half / 10), rel=1e-9)
    assert ratio.high == pytest.approx(math.exp(2 + half / 10), rel=1e-9)


def test_one_run_has_no_interval_and_is_unclear() -> None:
    assert statistics.mean([3.0]) == Estimate(3.0, None, None, 1)
    ratio = statistics.geometric_mean([math.log(0.5)])
    assert ratio == Estimate(0.5, None, None, 1)
    assert ratio.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.5, 1.0, "inconclusive"),
        (1.0, 1.4, "inconclusive"),
        (1.01, 1.051, "slower"),
        (0.94, 0.99, "faster"),
        (0.9, 1.2, "inconclusive"),
        (1.01, 1.04, "within margin"),
        (1 / 1.05, 1.05, "within margin"),
    ],
)
def test_an_interval_gives_the_verdict(low: float, high: float, verdict: str) -> None:
    assert Estimate((low + high) / 2, low, high, 5).verdict.value == verdict


def noisy(seed: int, scenario: str) -> ScenarioResults:
    """Five rounds of a scenario in which nothing changed."""
    random = Random(seed)

    def run() -> dict[str, float]:
        factors = [random.lognormvariate(0, 0.1) for _ in range(5)]
        real, user, system, idle, late = factors
        return {
            **times(real, user, system),
            "time_cpu_idle": idle,
            "item_latency_p99": late / 1000,
        }

    return make_record({label: [run() for _ in range(5)] for label in "ab"}, scenario=scenario)


def test_of_eight_scenarios_in_which_nothing_changed_none_is_called_slower_or_faster() -> None:
    def is_claimed(trial: int, scenarios: int) -> bool:
        """Whether any of eight is, with the error shared over so many."""
        records = (noisy(trial * 8 + number, str(number)) for number in range(8))
        compared = (ratios_of(record, scenarios) for record in records)
        return any(
            ratio.verdict in (Verdict.SLOWER, Verdict.FASTER)
            for ratios in compared
            for name, ratio in ratios.items()
            if name in statistics.METRICS_WITH_SENTENCE
        )

    alone, together = (sum(is_claimed(trial, over) for trial in range(100)) for over in (1, 8))
    assert alone > 25, "by itself, each scenario has an error of its own"
    assert together <= 10, "of 100, 5 may be wrong on average"


def test_a_cost_below_the_resolution_counts_as_that() -> None:
    record = make_record({"a": [times(1, 1, 0)] * 3, "b": [times(1, 1, 0.008)] * 3})
    assert ratios_of(record)["system"].value == pytest.approx(2)
    assert statistics.log_ratios([(2.0, 0.0)], 1.0) == [pytest.approx(math.log(0.5))]


def test_means_are_of_the_same_rounds_as_the_ratios_beside_them() -> None:
    # The candidate failed in the two heavy rounds.
    base = [times(1, second, 0) for second in (0.15, 0.15, 3.0, 0.15, 5.0)]
    record = make_record({"a": base, "b": []})
    for number in (1, 2, 4):
        record.add(measurement("b", number, times(1, 0.15, 0)))
    (cpu,) = (it for it in statistics.compare(record).figures["b"] if it.metric.name == "cpu")
    assert cpu.before is not None
    assert cpu.after is not None
    assert cpu.ratio is not None
    assert (cpu.before.value, cpu.after.value) == pytest.approx((0.15, 0.15))
    assert cpu.ratio.value == pytest.approx(1)
    assert cpu.rounds == 3


def test_a_revision_with_few_rounds_takes_none_from_the_others() -> None:
    of_five = [times(1, 1, 0)] * 5
    record = make_record({"a": of_five, "b": of_five, "c": of_five[:2]})
    compared = statistics.compare(record)
    assert [compared.means(label)["cpu"].count for label in "abc"] == [5, 5, 2]


def test_a_metric_of_some_rounds_only_is_of_those_that_both_have_it_in() -> None:
    base = [{**times(1, 1, 0), "wakeups": count} for count in (900.0, 100.0, 100.0)]
    new = [times(1, 1, 0), *({**times(1, 1, 0), "wakeups": 100.0} for _ in range(2))]
    figures = statistics.compare(make_record({"a": base, "b": new})).figures["b"]
    before = {it.metric.name: it.before for it in figures if it.before}
    assert before["wakeups"].value == pytest.approx(100)
    assert before["cpu"].count == 3


def test_without_a_round_in_common_there_are_no_figures_but_no_error() -> None:
    record = make_record({"a": [times(1, 1, 1)], "b": []})
    record.add(measurement("b", 2, times(1, 1, 1)))
    compared = statistics.compare(record)
    assert compared.means("b") == {}
    assert {it.why_not for it in compared.figures["b"]} == {"not measured"}


@pytest.mark.parametrize(
    ("name", "before", "after", "ratio"),
    [
        ("wakeups", 0.0, 30.0, 6.0),
        ("items", 0.0, 1.0, 2.0),
        ("items", 0.0, 4.0, 8.0),
        ("polls-per-item", 0.0, 0.02, 2.0),
    ],
)
def test_a_count_below_the_resolution_counts_as_the_resolution(
    name: str, before: float, after: float, ratio: float
) -> None:
    key = BY_NAME[name].key
    record = make_record({"a": [{key: before}] * 3, "b": [{key: after}] * 3})
    assert ratios_of(record)[name].value == pytest.approx(ratio)
