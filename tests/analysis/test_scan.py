"""Records of a scan -> curves: what a worker costs, and what each input adds."""

import pytest

from tests.analysis.scanned import VALUES, scan_records
from tests.records import outcome
from waitbench.analysis import gate
from waitbench.analysis.scan import scans
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import METRICS
from waitbench.model.run import TIMED_OUT
from waitbench.pipeline.criteria import parse

COSTS = {"a": lambda n: 0.02 + 0.0002 * n, "b": lambda n: 0.01 + 0.0003 * n}


def test_each_revision_has_a_constant_and_a_slope_with_their_intervals() -> None:
    (found,) = scans(scan_records(COSTS))
    assert (found.scenario, found.parameter, found.rounds) == ("idle", "partitions", 5)
    assert found.values == tuple(found.curves[0].costs) == VALUES
    for curve, constant, slope in zip(found.curves, (0.02, 0.01), (2e-4, 3e-4), strict=True):
        assert curve.off_at is None
        for estimate, true in ((curve.constant, constant), (curve.slope, slope)):
            assert estimate is not None
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low < true < estimate.high
            assert estimate.value == pytest.approx(true, rel=0.05)
    ratio = found.curves[1].slope_ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(1.5, rel=0.03)
    assert found.curves[0].slope_ratio is None


def test_a_value_that_could_not_be_measured_is_left_out() -> None:
    records = scan_records(COSTS)
    records[-1].measurements = [run for run in records[-1].measurements if run.label == "a"]
    records[-1].add(outcome("b", 1, TIMED_OUT, message="still running after 30 s"))
    (found,) = scans(records)
    whole, short = found.curves
    assert set(whole.costs) - set(short.costs) == {1024}
    assert short.slope is not None


def test_a_round_without_all_values_is_no_part_of_the_fit() -> None:
    records = scan_records(COSTS)
    records[2].measurements = [run for run in records[2].measurements if run.round != 3]
    (found,) = scans(records)
    assert found.curves[0].slope is not None
    assert found.curves[0].slope.count == 4


def test_a_square_fails_by_each_value_where_it_costs_and_passes_at_a_small_one() -> None:
    costs = {"a": COSTS["a"], "b": lambda n: 0.02 + 0.0002 * n + 4e-7 * n**2}
    records = scan_records(costs, rounds=16)
    found = gate.conclude(records, parse(["steady:25%,each"], METRICS), 16).judgements
    assert found[-1].verdict is Verdict.SLOWER
    assert found[2].verdict is Verdict.WITHIN_MARGIN
    assert scans(records)[0].curves[1].off_at == 1024
