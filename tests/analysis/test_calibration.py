"""What comparisons of a revision with itself say of the gate."""

import math
import random

import pytest
from scipy import stats

from tests.gate_runs import WOBBLE, counted, noisy, record_of, rounds, scaled
from waitbench.analysis import calibration, sequential
from waitbench.analysis.criteria import parse
from waitbench.analysis.sequential import Errors
from waitbench.model.metrics import METRICS

CRITERIA = parse(["system:10%", "cpu:20%"], METRICS)


def test_detectable_changes_shrink_with_rounds_towards_the_margin() -> None:
    found = [calibration.detectable_change(0.05, count, 0.10, 0.001) for count in (5, 10, 20)]
    assert found == sorted(found, reverse=True)
    assert 1.1 < found[-1] < 1.2


@pytest.mark.parametrize(("rounds_", "margin", "error"), [(5, 0.10, 0.001), (3, 0.0, 0.01)])
def test_a_detectable_change_is_found_that_often(rounds_: int, margin: float, error: float) -> None:
    change = calibration.detectable_change(0.05, rounds_, margin, error)
    errors = Errors(alarm=error, clear=error)
    source = random.Random(3)
    found = 0
    for _ in range(1500):
        logs = [source.gauss(math.log(change), 0.05) for _ in range(rounds_)]
        found += sequential.bounds(logs, errors).low > math.log1p(margin)
    assert found / 1500 == pytest.approx(0.95, abs=0.017)


def test_at_a_detectable_change_the_noncentral_t_has_that_power() -> None:
    change = calibration.detectable_change(0.04, 6, 0.10, 0.002)
    noncentrality = math.log(change / 1.1) / 0.04 * math.sqrt(6)
    critical = stats.t.ppf(1 - 0.002, 5)
    assert stats.nct.sf(critical, 5, noncentrality) == pytest.approx(0.95, rel=1e-9)


def test_without_spread_the_margin_itself_is_found() -> None:
    assert calibration.detectable_change(0.0, 5, 0.25, 0.01) == pytest.approx(1.25)


def test_a_rate_of_false_alarms_has_its_exact_interval() -> None:
    assert calibration.false_alarm_interval(0, 40) == pytest.approx((0, 0.0881), abs=1e-4)
    assert calibration.false_alarm_interval(40, 40)[1] == 1.0


def test_spreads_are_pooled_over_comparisons_by_their_rounds() -> None:
    # Variances 0.02 with 1 degree of freedom and 0.01 with 2, each around a centre of its own.
    found = calibration.spread_of([[0.1, 0.3], [1.0, 1.1, 1.2], [9.0]])
    assert found == pytest.approx(math.sqrt((0.02 + 2 * 0.01) / 3))


def test_without_two_rounds_there_is_no_spread() -> None:
    assert math.isnan(calibration.spread_of([[0.1], []]))


def test_a_calibration_sums_up_all_comparisons() -> None:
    calm, other = rounds(1, 0.5), rounds(1, 0.5)[::-1]
    alarming = scaled(other, system=2)
    comparisons = [
        [record_of(calm, other, "one"), record_of(calm, other, "two")],
        [record_of(calm, other, "one"), record_of(calm, alarming, "two")],
        [record_of(calm, other, "one"), record_of(calm, other, "two")],
    ]
    found = calibration.calibrate(comparisons, CRITERIA, 10)
    assert (found.comparisons, found.false_alarms) == (3, 1)
    assert (found.low, found.high) == calibration.false_alarm_interval(1, 3)
    places = [(sensitivity.place, sensitivity.criterion) for sensitivity in found.sensitivities]
    assert places == [
        ("one", "system:10%"), ("one", "cpu:20%"), ("two", "system:10%"), ("two", "cpu:20%"),
    ]  # fmt: skip


def test_each_question_has_a_sensitivity_of_its_own() -> None:
    calm, other = rounds(1, 0.5), rounds(1, 0.5)[::-1]
    records = [record_of(calm, other, "one"), record_of(calm, noisy(10), "two")]
    one, cpu, two, _ = calibration.calibrate([records], CRITERIA, 10).sensitivities
    logs = [math.log((1 - b) / (1 - a)) for a, b in zip(WOBBLE, WOBBLE[::-1], strict=True)]
    spread = math.sqrt(sum(log**2 for log in logs) / 9)
    assert one.spread == pytest.approx(spread)
    assert two.spread > 10 * spread
    assert list(one.by_rounds) == [6, 8, 10], "nothing fails before the sixth round"
    error = sequential.errors_at(8, 4).alarm
    assert one.by_rounds[8] == pytest.approx(calibration.detectable_change(spread, 8, 0.10, error))
    assert cpu.by_rounds[8] == pytest.approx(
        calibration.detectable_change(cpu.spread, 8, 0.20, error)
    )


def test_scenarios_together_have_the_spread_of_their_mean() -> None:
    source = random.Random(7)
    records = [
        counted(name, cpu=[math.exp(source.gauss(0, 0.1)) for _ in range(10)])
        for name in ("one", "two", "three", "four")
    ]
    criteria = parse(["cpu:10%,together", "cpu:10%"], METRICS)
    together, *each = calibration.calibrate([records], criteria, 10).sensitivities
    assert together.place == "4 scenarios together"
    assert together.spread < min(one.spread for one in each)


def test_a_comparison_that_stays_unclear_is_no_false_alarm() -> None:
    records = [record_of(rounds(1, 0.5), noisy(10))]
    assert calibration.calibrate([records], CRITERIA[:1], 10).false_alarms == 0
