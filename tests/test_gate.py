"""The check for continuous integration: criteria, bounds, verdicts, and where they are read."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import make_record, times
from waitbench.analysis import gate, sequential
from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Verdict
from waitbench.cli import verdicts
from waitbench.execution.measure import Outcome
from waitbench.model.errors import ExitCode, UsageError
from waitbench.reporting import gate as gate_report
from waitbench.store.results import Record


@pytest.mark.parametrize(
    ("text", "name", "margin", "floor", "alone"),
    [
        ("system:10%", "system", 0.10, 0.0, False),
        ("real:5%", "real", 0.05, 0.0, False),
        ("polls:50%", "polls", 0.50, 0.0, False),
        ("steady:0%", "steady", 0.0, 0.0, False),
        ("system:10%,20ms", "system", 0.10, 0.020, False),
        ("system:10%,alone", "system", 0.10, 0.0, True),
        ("system:2.5%,1.5s,alone", "system", 0.025, 1.5, True),
        ("rss:20%,5MiB", "rss", 0.20, 5 * 2**20, False),
    ],
)
def test_criteria_are_read(text: str, name: str, margin: float, floor: float, alone: bool) -> None:
    (criterion,) = gate.parse([text])
    assert (criterion.metric.name, criterion.alone) == (name, alone)
    assert (criterion.margin, criterion.floor) == (pytest.approx((margin, floor)))


@pytest.mark.parametrize(
    "text",
    ["", "system", "system:", "system:10", "system:x%", "system:-5%", "system:nan%", "system:inf%", "sytem:10%", "system:10%,x",
     "system:10%,20 parsecs", "cpu:10%,alone", ":10%", "10%", "system:10%%", "SYSTEM:10%"],
)  # fmt: skip
def test_bad_criteria_are_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-on"):
        gate.parse([text])


def test_an_unknown_metric_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="real, user, system, cpu"):
        gate.parse(["sytem:10%"])


def test_nothing_trimmed_is_students_t() -> None:
    found = sequential.bounds([0.1, 0.2, 0.3, 0.4], 0.01)
    standard_error = stats.sem([0.1, 0.2, 0.3, 0.4])
    assert found.centre == pytest.approx(0.25)
    assert found.low == pytest.approx(0.25 - stats.t.ppf(0.99, 3) * standard_error)
    assert found.high == pytest.approx(0.25 + stats.t.ppf(0.99, 3) * standard_error)


def test_trimmed_bounds_are_those_of_yuen_as_scipy_has_them() -> None:
    values = [0.01 * n + (0.5 if n == 7 else 0) for n in range(10)]
    found = sequential.bounds(values, 0.025)
    reference = stats.ttest_ind(values, [0.0] * 10, trim=0.1, equal_var=False)  # the other sample adds no variance
    assert found.centre / ((found.high - found.low) / 2) * stats.t.ppf(0.975, 7) == pytest.approx(reference.statistic)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=40), st.floats(1e-6, 0.2))
def test_bounds_enclose_the_centre_and_mirror_when_the_revisions_change_places(logs: list[float], error: float) -> None:
    found, mirrored = sequential.bounds(logs, error), sequential.bounds([-value for value in logs], error)
    assert found.low <= found.centre <= found.high
    assert mirrored.low == pytest.approx(-found.high, abs=1e-9)


def test_one_spike_among_ten_rounds_hardly_moves_the_bounds() -> None:
    calm = [0.01, -0.02, 0.0, 0.015, -0.01, 0.02, -0.005, 0.005, 0.01, -0.015]
    before, after = sequential.bounds(calm, 0.01), sequential.bounds([*calm[:-1], 3.0], 0.01)
    assert after.high < before.high + 0.05


def test_looks_end_with_the_last_round_and_their_errors_add_up_to_what_is_allowed() -> None:
    assert sequential.looks_until(3) == (3,)
    assert sequential.looks_until(10) == (3, 4, 5, 6, 8, 10)
    assert sequential.looks_until(33)[-2:] == (30, 33)
    looks = sequential.looks_until(30)
    assert sequential.level(16, len(looks)) * 16 * len(looks) == pytest.approx(sequential.ALPHA)


def test_simulated_comparisons_without_a_change_fail_in_fewer_than_5_per_cent() -> None:
    """A short, seeded form of benchmarks/false_alarms.py, with margin 0 so that every error would show."""
    source = random.Random(7)
    looks = sequential.looks_until(20)
    error = sequential.level(4, len(looks))
    alarms = 0
    for _ in range(300):
        questions = [
            [
                source.gauss(0, 0.05) + (source.random() < 0.05) * source.choice((-1, 1)) * source.expovariate(1)
                for _ in range(20)
            ]
            for _ in range(4)
        ]
        alarms += any(sequential.bounds(q[:look], error).low > 0 for q in questions for look in looks)
    assert alarms <= 15


def record_of(base: Sequence[tuple[float, float]], candidate: Sequence[tuple[float, float]]) -> Record:
    """User and system seconds of each round."""
    return make_record({
        "base": [times(5, user, system) for user, system in base],
        "new": [times(5, user, system) for user, system in candidate],
    })  # fmt: skip


def verdict_of(record: Record, *texts: str, strict: bool = False, most_rounds: int = 10) -> GateVerdict:
    return verdicts.verdict_of({record.scenario: record}, gate.parse(texts), most_rounds, strict=strict)


WOBBLE = (0.0, 0.01, -0.01, 0.005, -0.005, 0.012, -0.008, 0.003, 0.0, -0.004)


def rounds(user: float, system: float, count: int = 10) -> list[tuple[float, float]]:
    return [(user * (1 + w), system * (1 - w)) for w in WOBBLE[:count]]


def test_a_clear_rise_fails_and_a_rise_within_the_margin_does_not() -> None:
    base = rounds(1, 0.5)
    assert verdict_of(record_of(base, [(u, s * 1.5) for u, s in base]), "system:10%").exit_code is ExitCode.REGRESSION
    within = verdict_of(record_of(base, [(u, s * 1.02) for u, s in rounds(1, 0.5)]), "system:10%")
    assert (within.exit_code, within.judgements[0].verdict) == (ExitCode.OK, Verdict.SAME)


def test_a_fall_passes_and_is_called_faster() -> None:
    verdict = verdict_of(record_of(rounds(1, 0.5), rounds(0.1, 0.05)), "system:10%", "cpu:10%")
    assert {j.verdict for j in verdict.judgements} == {Verdict.FASTER}
    assert verdict.exit_code is ExitCode.OK


def test_system_time_that_rose_while_cpu_fell_by_more_is_said_and_fails_only_alone() -> None:
    record = record_of(rounds(5.2, 0.09), rounds(0.12, 0.39))
    verdict = verdict_of(record, "system:10%", "cpu:10%")
    assert verdict.exit_code is ExitCode.OK
    assert any("moved from user to system" in remark for remark in gate_report.remarks(verdict))
    assert "moved from user to system" in gate_report.markdown(verdict)
    assert "moved from user to system" in gate_report.junit(verdict)
    assert verdict_of(record, "system:10%,alone").exit_code is ExitCode.REGRESSION


def test_system_time_that_rose_while_cpu_fell_by_less_still_fails() -> None:
    # 0.3 s more system time, 0.2 s less in all: not mostly a move.
    assert verdict_of(record_of(rounds(5.2, 0.1), rounds(4.7, 0.4)), "system:10%").exit_code is ExitCode.REGRESSION


def test_a_rise_below_the_floor_never_fails() -> None:
    record = record_of(rounds(1, 0.010), [(u, s * 2) for u, s in rounds(1, 0.010)])
    assert verdict_of(record, "system:10%").exit_code is ExitCode.REGRESSION
    assert verdict_of(record, "system:10%,20ms").exit_code is ExitCode.OK


def test_unclear_passes_unless_strict_and_names_the_margin_that_the_machine_supports() -> None:
    noisy = [(1, 0.5 * (1 + 40 * w)) for w in WOBBLE[:5]]
    record = record_of(rounds(1, 0.5, 5), noisy)
    verdict = verdict_of(record, "system:10%", most_rounds=5)
    assert verdict.judgements[0].verdict is Verdict.UNCLEAR
    assert verdict.exit_code is ExitCode.OK
    assert any("too noisy for 10%" in remark for remark in gate_report.remarks(verdict))
    assert verdict_of(record, "system:10%", most_rounds=5, strict=True).exit_code is ExitCode.REGRESSION


def test_a_candidate_that_failed_or_has_no_open_question_needs_no_more_rounds() -> None:
    noisy = [(3, 0.5 * (1 + 40 * w)) for w in WOBBLE[:3]]
    failed = verdict_of(record_of(rounds(1, 0.5, 3), noisy), "system:10%", "cpu:10%").judgements
    assert [j.verdict for j in failed] == [Verdict.UNCLEAR, Verdict.SLOWER]
    assert gate.is_settled(failed)
    assert not gate.is_settled(
        verdict_of(record_of(rounds(1, 0.5, 3), [(1, s) for _, s in noisy]), "system:10%").judgements
    )


def test_rounds_between_looks_do_not_count_yet() -> None:
    verdict = verdict_of(record_of(rounds(1, 0.5, 7), rounds(1, 0.5, 7)), "cpu:10%", most_rounds=20)
    assert verdict.judgements[0].rounds == 6
    too_few = verdict_of(record_of(rounds(1, 0.5, 2), rounds(1, 0.5, 2)), "cpu:10%")
    assert too_few.judgements[0].ratio is None


def test_what_a_revision_does_not_support_is_not_judged_but_said() -> None:
    record = record_of(rounds(1, 0.5), [])
    record.add(Outcome("new", 0, 0, "", "not-supported", "", ""))
    verdict = verdict_of(record, "cpu:10%")
    assert verdict.judgements == ()
    assert any("not supported" in remark for remark in gate_report.remarks(verdict))


@pytest.fixture
def failing() -> GateVerdict:
    base = rounds(1, 0.5)
    record = record_of(base, [(u, s * 1.5) for u, s in base])
    return verdict_of(record, "system:10%", "cpu:50%")


def test_junit_has_a_failure_for_each_failing_criterion(failing: GateVerdict) -> None:
    suite = ElementTree.fromstring(gate_report.junit(failing))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    assert [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None] == ["new system:10%"]


def test_annotations_are_errors_with_escaped_text(failing: GateVerdict) -> None:
    (line,) = gate_report.annotations(failing)
    assert line.startswith("::error title=system in partitioned::new")
    assert "%" not in line.replace("%25", "")


def test_json_follows_its_documented_schema(failing: GateVerdict) -> None:
    data = json.loads(gate_report.to_json(failing))
    documented = (Path(__file__).parent.parent / "docs" / "verdict.md").read_text()
    for key in (*data, *data["judgements"][0]):
        assert f"`{key}`" in documented, key
    assert data["passed"] is False
    assert data["judgements"][0]["low"] > 1.1


def test_detectable_changes_shrink_with_rounds_and_are_found_that_often() -> None:
    from waitbench.cli.calibrate import detectable_change, false_alarm_interval

    changes = [detectable_change(0.05, count, 0.10, 0.001) for count in (5, 10, 20)]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] > 1.1
    # Simulated: at the stated change, the lower bound lies above the margin about 95 % of the time.
    source = random.Random(3)
    found = 0
    for _ in range(400):
        logs = sorted(source.gauss(math.log(changes[0]), 0.05) for _ in range(5))
        found += sequential.bounds(logs, 0.001).low > math.log(1.1)
    assert 0.91 < found / 400 < 0.985
    assert false_alarm_interval(0, 40)[1] == pytest.approx(0.0881, abs=1e-3)
