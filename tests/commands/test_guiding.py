"""Which rounds the gate still wants, as records grow."""

from pathlib import Path

import pytest

from tests.records import context, make_record, measurement, outcome
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines.bytewax.scenarios import SCENARIOS
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.model.metrics import BY_NAME, MEMORY, METRICS
from waitbench.model.record import Record
from waitbench.model.run import FAILED
from waitbench.pipeline.criteria import LIMIT, parse
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import GateGuide, counts_calls, side_by_side
from waitbench.pipeline.preparation import new_record


def empty(*names: str) -> dict[str, Record]:
    """Scenarios without any round; what is called busy works, the others wait."""
    return {
        name: make_record({"base": [], "new": []}, scenario=name, waits=name != "busy")
        for name in names
    }


def grow(record: Record, rounds: int, **ratios: float) -> None:
    """Adds rounds; metrics by name, as the ratio of the candidate to the baseline."""
    keys = {BY_NAME[name.replace("_", "-")].key: ratio for name, ratio in ratios.items()}
    for number in range(1, rounds + 1):
        wobble = 1 + 0.001 * (number % 3)
        metrics = {key: 100.0 * ratio * wobble for key, ratio in keys.items()}
        record.add(measurement("base", number, dict.fromkeys(keys, 100.0)))
        record.add(measurement("new", number, metrics))


SAME = dict.fromkeys(
    ("steady", "foreign_cpu", "wakeups", "syscalls", "steady_system", "cpu", "startup", "shutdown",
     "latency", "latency_p50", "rss"), 1.0
)  # fmt: skip


def test_each_scenario_is_wanted_until_its_questions_are_settled() -> None:
    records = empty("one", "two", "busy")
    asking = GateGuide(Gate(criteria=DEFAULTS, most_rounds=30), records)
    assert [asking.wants_more(name) for name in records] == [True] * 3
    grow(records["busy"], 16, cpu=1.0)
    assert [asking.wants_more(name) for name in records] == [True, True, False]
    grow(records["one"], 22, **SAME)
    assert [asking.wants_more(name) for name in records] == [True, True, False], (
        "what is asked of both together is not settled"
    )
    grow(records["two"], 22, **SAME)
    assert [asking.wants_more(name) for name in records] == [False] * 3
    # A round in which a run failed in an earlier session is made again.
    records["busy"].add(outcome("new", 17, FAILED))
    records["busy"].outcomes_before = 1
    assert [asking.wants_more(name) for name in records] == [False, False, True]


@pytest.mark.parametrize(
    ("texts", "counts"),
    [([], True), (["cpu:10%"], False), (["cpu:10%", "syscalls:5%"], True)],
)
def test_system_calls_are_counted_unless_a_gate_asks_nothing_of_them(
    texts: list[str], counts: bool
) -> None:
    assert counts_calls(Gate(criteria=parse(texts, METRICS), most_rounds=10)) is counts


def test_a_share_has_the_error_of_all_questions() -> None:
    # Rounds that fail where they are the only question, and not where there are a thousand.
    records = empty("one")
    asked = Gate(criteria=parse(["cpu:10%,each"], METRICS), most_rounds=30)
    alone = GateGuide(asked, records)
    shared = GateGuide(asked, records, empty(*map(str, range(1000))).values())
    for number, ratio in enumerate((1.2, 1.3, 1.25, 1.22) * 3, 1):
        for label, of in (("base", 1.0), ("new", ratio)):
            metrics = {BY_NAME["cpu"].key: of}
            records["one"].add(measurement(label, number, metrics))
    assert not alone.wants_more("one")
    assert shared.wants_more("one")


def test_what_is_asked_of_more_scenarios_than_a_share_has_fails_nothing_by_itself() -> None:
    records = empty("one")
    elsewhere = empty("two", "three").values()
    criteria = parse(["cpu:10%", "cpu:300%,each"], METRICS)
    grow(records["one"], 22, cpu=3.0)

    def has_failed(*others: Record) -> bool:
        return any(map(gate.has_failed, gate.judge_all(records.values(), criteria, others)))

    assert has_failed()
    assert not has_failed(*elsewhere)
    share = GateGuide(Gate(criteria=criteria, most_rounds=30), records, elsewhere)
    assert not share.wants_more("one"), "more rounds would not change what is known here"


@pytest.mark.parametrize(
    ("own", "expected"), [((), {"partitioned-silence"}), (("foreign-cpu:25%",), set())]
)
def test_of_dataflows_silence_alone_is_measured_side_by_side_unless_others_are_asked_for(
    own: tuple[str, ...], expected: set[str]
) -> None:
    records = {one.name: new_record(one, context(["base", "new"])) for one in SCENARIOS}
    criteria = (*DEFAULTS, *parse(own, METRICS))
    assert side_by_side(SCENARIOS, records, criteria) == expected


@pytest.mark.parametrize(
    ("window", "own", "is_beside"),
    [
        ("2", [], True),
        ('"until-exit"', [], False),
        ("2", ["foreign-cpu:25%"], False),
        ("2", [f"{LIMIT}cpu:1%"], True),
        # Copies share pages: a worker would stay below its limit beside others.
        ("2", [f"{LIMIT}memory:80MiB"], False),
    ],
)
def test_worker_files_that_wait_are_measured_side_by_side(
    window: str, own: list[str], is_beside: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"command = '{{revision}}'\nwindow = {window}\n")
    (scenario,) = scenarios_of(worker_file.read(path))
    records = {scenario.name: new_record(scenario, context(["base", "new"]))}
    criteria = (*DEFAULTS, *parse(own, (*METRICS, MEMORY)))
    assert side_by_side([scenario], records, criteria) == ({"mine"} if is_beside else set())
