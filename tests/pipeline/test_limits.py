"""Limits as users write them, and one revision against them."""

from pathlib import Path

import pytest

from tests.commands.idle_workers import worker
from tests.criteria import LIMIT, parse
from tests.execution.made_runs import Made, disturbed
from tests.execution.made_runs import scenario as made_scenario
from tests.records import context, measurement, times
from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines.worker.file import read
from waitbench.model.errors import UsageError
from waitbench.model.metrics import MEMORY, METRICS, Metric
from waitbench.model.record import ScenarioResults
from waitbench.model.run import PlannedRun, Result
from waitbench.model.scenario import Scenario
from waitbench.model.verdicts import GateStatus
from waitbench.pipeline import gating
from waitbench.pipeline.comparing import OpenQuestions
from waitbench.pipeline.gating import Gate
from waitbench.reporting.formats import format_value_of_share

SERVICE_CPU = Metric("service-cpu", "service_cpu_idle", "second", "the services' CPU")
SPEED = Metric("speed", "own_speed", "ops", "speed (ops)")
KNOWN = (*METRICS, MEMORY, SERVICE_CPU, SPEED)


@pytest.mark.parametrize(
    ("text", "name", "most", "by_second", "shown"),
    [
        ("idle:0.5%", "share", 0.005, False, "0.5 %"),
        ("share:12%", "share", 0.12, False, "12 %"),
        ("service-cpu:2%", "service-cpu", 0.02, True, "2 %"),
        ("wakeups:5/s", "wakeups", 5.0, True, "5/s"),
        ("switches:40", "switches", 40.0, False, "40"),
        ("memory:80MB", "memory", 8e7, False, "80 MB"),
        ("rss:1.5GiB", "rss", 1.5 * 2**30, False, "1.5 GiB"),
        ("latency:100ms", "latency", 0.1, False, "100 ms"),
        ("speed:3ops", "speed", 3.0, False, "3 ops"),
    ],
)
def test_a_limit_is_read_in_the_units_of_its_metric(
    text: str, name: str, most: float, by_second: bool, shown: str
) -> None:
    (found,) = parse([f"{LIMIT}{text}"], KNOWN)
    assert found.limit is not None
    assert (found.metric.name, found.limit.by_second) == (name, by_second)
    assert found.limit.most == pytest.approx(most)
    assert format_value_of_share(found.limit, 1.0) == shown
    assert parse([str(found)], KNOWN) == (found,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "is not METRIC:VALUE with a value above 0, such as idle:0.5%"),
        ("cpu:-1%", "is not METRIC:VALUE"),
        ("memory:٨٠MB", "is not METRIC:VALUE with a value above 0"),
        ("cpu:5", "a limit of total CPU is written as cpu:5s or cpu:5ms or cpu:5us."),
        ("idle:5", "a limit of idle CPU is written as idle:5s or idle:5ms or idle:5us or idle:5%."),
        ("latency:5%", "a limit of lateness p99 is written as latency:5s or"),
        ("wakeups:5", "a limit of wake-ups while waiting is written as wakeups:5/s."),
        ("switches:5/s", "a limit of voluntary context switches is written as switches:5."),
    ],
)
def test_a_bad_limit_is_refused_with_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse([f"{LIMIT}{text}"], KNOWN)
    assert str(raised.value).startswith(f"--limit {text!r}")
    assert message in str(raised.value)


def test_limits_of_a_file_give_way_to_those_that_are_typed(tmp_path: Path) -> None:
    file = read(worker(tmp_path, '[limits]\nidle = "0.5 %"\nmemory = "80MB"\n'))

    def limits(*typed: str, with_limits_of_file: bool = True) -> list[str]:
        criteria = gating.read_criteria([], typed, file, with_limits_of_file=with_limits_of_file)
        return [str(criterion) for criterion in criteria]

    assert limits() == ["limit idle:0.5 %", "limit memory:80MB"]
    assert limits("idle:1%") == ["limit idle:1%", "limit memory:80MB"]
    assert limits(" share:1%") == ["limit share:1%", "limit memory:80MB"]
    assert limits("idle:200ms") == ["limit idle:200ms", "limit memory:80MB"]
    assert limits(with_limits_of_file=False) == []
    wrong = read(worker(tmp_path, '[limits]\ncpu = "5 parsecs"\n'))
    with pytest.raises(UsageError, match=r"mine.toml', \[limits\]: --limit 'cpu:5 parsecs': a lim"):
        gating.read_criteria([], (), wrong)


def test_limits_are_asked_after_rises_and_must_be_measured() -> None:
    criteria = gating.read_criteria([], ["idle:0.5%", "wakeups:5/s"], with_defaults=True)
    assert criteria[: len(DEFAULTS)] == DEFAULTS
    asked = Gate(criteria=criteria, most_rounds=30)
    assert {"cpu_share_idle", "wakeups"} <= asked.needs


def gate_of_one(
    text: str, share: float, *, is_disturbed: bool = False
) -> tuple[Gate, ScenarioResults]:
    """A guided session of a revision that is compared with none."""
    gate = Gate(criteria=parse([f"{LIMIT}{text}"], METRICS), most_rounds=30)
    record = ScenarioResults(spec=Scenario(name="one", waits=True), context=context(["a"]))

    def run(planned: PlannedRun, _before: int) -> Result:
        if is_disturbed:
            return disturbed(planned)
        metrics = {**times(1, 1, 0), "cpu_share_idle": share}
        return measurement(planned.label, planned.round, metrics)

    made = Made(run)
    needed = OpenQuestions(gate, {"one": record}).rounds_needed
    made.session({"one": record}).carry_out(needed, [[made_scenario("one")]], ["a"], 30)
    return gate, record


@pytest.mark.parametrize(
    ("share", "rounds", "outcome"),
    [(0.004, 18, GateStatus.PASS), (0.005, 30, GateStatus.INCONCLUSIVE), (0.006, 9, "fail")],
)
def test_a_round_of_one_revision_is_a_run_until_its_limit_is_answered(
    share: float, rounds: int, outcome: GateStatus
) -> None:
    gate, record = gate_of_one("idle:0.5%", share)
    assert len(record.measurements) == rounds
    assert gate.conclude([record]).outcome == outcome


def test_no_run_is_made_again_of_what_is_judged_by_itself() -> None:
    """What others used during it may be what it had them do."""
    gate, record = gate_of_one("real:2s", 0.004, is_disturbed=True)
    assert not record.failed_runs
    assert len(record.disturbed_rounds) == len(record.measurements)
    assert gate.conclude([record]).outcome is GateStatus.INCONCLUSIVE
