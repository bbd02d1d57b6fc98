"""What the gate is asked, what this machine can answer, and which rounds it still wants."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from tests.criteria import LIMIT, parse
from tests.execution.made_runs import LASTS_S, Made, MadeUpCommand, scenario
from tests.gate_runs import ASKED
from tests.records import make_record, measurement, outcome, specify
from waitbench.analysis import gate
from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines import SCENARIOS
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.execution import concurrency
from waitbench.execution.concurrency import Concurrency
from waitbench.execution.hyperfine import Hyperfine
from waitbench.execution.measure import Measurer
from waitbench.model.metrics import BY_NAME, MEMORY, METRICS, STOP, Instruments
from waitbench.model.record import ScenarioResults
from waitbench.model.run import CONCURRENT, DISTURBED, FAILED, NOT_SUPPORTED, WARM_UP
from waitbench.model.scenario import Topology
from waitbench.pipeline import gating
from waitbench.pipeline.comparing import (
    FixedRounds,
    OpenQuestions,
    concurrent_scenarios,
    seconds_left,
)
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.preparation import measurer
from waitbench.pipeline.request import ValidRequest

OWN = parse(["syscalls:5%", "cpu:10%"], METRICS)
GATE = Gate(criteria=(*DEFAULTS, *OWN), most_rounds=10)


def test_the_defaults_come_before_what_is_named_and_nothing_is_asked_twice() -> None:
    names = ["cpu:10%", "cpu:10%"]
    assert gating.read_criteria(names, with_defaults=True) == (*DEFAULTS, OWN[1])
    assert gating.read_criteria(names) == (OWN[1],)
    assert gating.read_criteria([], with_defaults=True) == DEFAULTS
    assert gating.read_criteria([]) == ()


def test_what_a_user_names_must_be_measured_and_a_default_need_not() -> None:
    assert GATE.needs == {"system_calls", "time_cpu"}
    assert replace(GATE, criteria=DEFAULTS).needs == frozenset()


def test_a_default_that_cannot_be_measured_is_left_out_and_said() -> None:
    fitting = GATE.supported_by(Instruments(reason="it is not mounted"), ())
    left = {c for c in DEFAULTS if str(c) == "syscalls:5%"}
    assert set(GATE.criteria) - set(fitting.criteria) == left
    assert set(OWN) <= set(fitting.criteria)
    assert fitting.left_out == (
        "syscalls:5%: not measured here: it is not mounted; ./waitbench doctor says how to fix it.",
    )
    assert fitting.conclude([]).left_out == fitting.left_out


def test_of_a_worker_that_nothing_wakes_up_lateness_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    ready = "command = '{revision}'\nready = { log = 'up' }\n"
    path.write_text(ready)
    (silent,) = scenarios_of(worker_file.read(path))
    path.write_text(f"{ready}poke = {{ command = 'true' }}\n")
    (poked,) = scenarios_of(worker_file.read(path))
    gate = Gate(criteria=(*DEFAULTS, *parse(["latency:1%"], METRICS)), most_rounds=10)
    every = Instruments(tracepoint=0)
    assert gate.supported_by(every, (poked,)) == gate
    assert gate.supported_by(every, (poked, silent)) == gate
    fitting = gate.supported_by(every, (silent,))
    asked = {str(one) for one in fitting.criteria if one.metric.name.startswith("latency")}
    assert asked == {"latency:1%"}, "what the user names is asked all the same"
    assert len(fitting.left_out) == 2
    assert all("[poke]" in said for said in fitting.left_out)


@pytest.mark.parametrize("ready", ["", "ready = { seconds = 2 }\n"])
def test_of_a_worker_that_is_ready_by_a_number_of_seconds_start_up_is_not_asked(
    ready: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"command = '{{revision}}'\n{ready}poke = {{ command = 'true' }}\n")
    (scenario,) = scenarios_of(worker_file.read(path))
    gate = Gate(criteria=DEFAULTS, most_rounds=10)
    fitting = gate.supported_by(Instruments(tracepoint=0), (scenario,))
    assert "startup" not in {one.metric.name for one in fitting.criteria}
    (said,) = fitting.left_out
    assert said.startswith("startup:25%,100ms: ")
    assert "`ready`" in said
    assert "startup" not in {metric.name for metric in scenario.metrics}


def test_what_waits_is_measured_first_and_what_is_judged_together_takes_turns() -> None:
    large = [one for one in SCENARIOS if one.large_changes_only]
    own = [one for one in SCENARIOS if one.waits and one not in large][:6]
    waiting = [scenario for scenario in own if not scenario.works]
    working = [scenario for scenario in own if scenario.works]
    assert large
    assert waiting
    assert working
    by_default = replace(GATE, criteria=DEFAULTS)
    assert by_default.groups([*own, *large]) == [waiting, large, working]
    assert by_default.groups(waiting) == [waiting]
    everything = replace(GATE, criteria=parse(["cpu:10%"], METRICS))
    assert everything.groups(own) == [own]


def empty(*names: str) -> dict[str, ScenarioResults]:
    """Scenarios without any round; what is called busy works, the others wait."""
    return {
        name: make_record({"base": [], "new": []}, scenario=name, waits=name != "busy")
        for name in names
    }


def grow(record: ScenarioResults, rounds: int, **ratios: float) -> None:
    """Adds rounds; metrics by name, as the ratio of the candidate to the baseline."""
    keys = {BY_NAME[name.replace("_", "-")].key: ratio for name, ratio in ratios.items()}
    for number in range(1, rounds + 1):
        wobble = 1 + 0.001 * (number % 3)
        metrics = {key: 100.0 * ratio * wobble for key, ratio in keys.items()}
        record.add(measurement("base", number, dict.fromkeys(keys, 100.0)))
        record.add(measurement("new", number, metrics))


def test_each_scenario_is_wanted_until_its_questions_are_settled() -> None:
    records = empty("one", "two", "busy")
    asking = OpenQuestions(Gate(criteria=DEFAULTS, most_rounds=30), records)
    assert [asking.rounds_needed(name) > 0 for name in records] == [True] * 3
    grow(records["busy"], 18, cpu=1.0)
    assert [asking.rounds_needed(name) > 0 for name in records] == [True, True, False]
    grow(records["one"], 22, **dict.fromkeys(ASKED, 1.0))
    assert [asking.rounds_needed(name) > 0 for name in records] == [True, True, False], (
        "what is asked of both together is not settled"
    )
    grow(records["two"], 22, **dict.fromkeys(ASKED, 1.0))
    assert [asking.rounds_needed(name) > 0 for name in records] == [False] * 3
    # A round in which a run failed in an earlier session is made again.
    records["busy"].add(outcome("new", 19, FAILED))
    records["busy"].failed_before = 1
    assert [asking.rounds_needed(name) > 0 for name in records] == [False, False, True]


@pytest.mark.parametrize(
    ("made", "concurrent", "runs"),
    [(0, (), 2 * 2 * 9), (4, (), 2 * 2 * 9), (0, ("one", "two"), 2 * 3)],
)
def test_the_time_left_is_that_of_the_open_scenarios_until_an_analysis_can_decide(
    made: int, concurrent: tuple[str, ...], runs: int
) -> None:
    scenarios = [scenario(name) for name in ("one", "two", "settled")]
    records = empty(*(it.name for it in scenarios))
    for record in records.values():
        grow(record, made, cpu=1.0)

    class Open(OpenQuestions):
        def rounds_needed(self, scenario: str) -> int:
            return 0 if scenario == "settled" else 9

    session = Made().session(records, Concurrency(concurrent))
    open_questions = Open(Gate(most_rounds=30), records)
    lasts_s = 3 * LASTS_S if made else LASTS_S
    for record in records.values():
        record.measurements[:] = [
            replace(run, metrics={"time_wall_clock": lasts_s}) for run in record.measurements
        ]
    assert seconds_left(session, scenarios, ["a", "b"], open_questions) == runs * lasts_s


def test_the_time_left_has_the_starts_and_ends_of_the_runs_of_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "usable_cpus", lambda: 2)
    command, records = MadeUpCommand(name="one"), empty("one")
    metrics = {
        "time_wall_clock": 12.0, "time_startup": 3.0, "time_cpu_startup": 0.5, "time_stop": 2.0,
        "time_cpu_shutdown": 0.2, "cpu_share_idle": 0.01,
    }  # fmt: skip
    for label in ("base", "new"):
        records["one"].add(measurement(label, 1, metrics))
    session = Made().session(records, Concurrency(("one",)))

    class Open(OpenQuestions):
        def rounds_needed(self, scenario: str) -> int:
            return 3

    questions = Open(Gate(most_rounds=30), records)
    left_s = seconds_left(session, [command], ["base", "new"], questions)
    # Two start at a time, and hand over after 0.1 s and twice the CPU.
    assert left_s == 12.0 + (6 - 1) * (1.1 + 0.5) / 2


def test_the_time_left_of_fixed_rounds_is_that_of_the_runs_that_are_still_to_be_made() -> None:
    records = empty("one", "unsupported")
    grow(records["one"], 2, cpu=1.0)
    records["one"].add(measurement("base", 3, {}))
    records["one"].measurements[:] = [
        replace(run, metrics={"time_wall_clock": LASTS_S}) for run in records["one"].measurements
    ]
    for label in ("base", "new"):
        records["unsupported"].add(outcome(label, 0, NOT_SUPPORTED))
    session = Made().session(records)
    questions = OpenQuestions(FixedRounds(4), records)
    scenarios = [scenario(name) for name in records]
    assert seconds_left(session, scenarios, ["base", "new"], questions) == 3 * LASTS_S


@pytest.mark.parametrize(("cost", "rounds"), [(1.0, 17), (2.0, 3)])
def test_rounds_suffice_for_all_questions_to_pass_or_for_one_to_fail(
    cost: float, rounds: int
) -> None:
    """Two scenarios together can fail after four rounds, and pass after nine; each, after 18."""
    records = empty("one", "two")
    for record in records.values():
        grow(record, 1, idle=cost, cpu=1.0)
    asking = Gate(criteria=parse(["idle:10%", "cpu:10%,each"], METRICS), most_rounds=30)
    assert asking.unsettled([*records.values()], ()) == {"one": rounds, "two": rounds}


def test_only_a_phase_whose_warm_ups_disagree_needs_a_round_in_turns() -> None:
    """Copies that listen to one port answer each other's messages."""
    records, key = empty("one", "two"), BY_NAME["latency-p50"].key
    for name, late_s in (("one", 0.1), ("two", 0.9)):
        specify(records[name], waits=True, metrics=(*METRICS, STOP))
        for label in ("base", "new"):
            records[name].add(measurement(label, WARM_UP, {key: late_s if label == "new" else 0.1}))
            for number in range(1, 19):
                run = measurement(label, number, {key: 0.1})
                records[name].add(replace(run, marks=(CONCURRENT,)))
    asking = Gate(criteria=parse(["latency-p50:25%,5ms"], METRICS), most_rounds=30)
    assert asking.unsettled([*records.values()], ()) == {"two": 1}


def test_no_more_rounds_are_wanted_where_other_programs_disturb_most_of_them() -> None:
    records = empty("one")
    grow(records["one"], 10, **dict.fromkeys(ASKED, 1.0))
    asking = OpenQuestions(Gate(criteria=DEFAULTS, most_rounds=30), records)
    assert asking.rounds_needed("one")
    runs = records["one"].measurements
    records["one"].measurements = [replace(run, marks=(DISTURBED,)) for run in runs]
    assert not asking.rounds_needed("one")


def measurer_of(*criteria: str) -> Measurer:
    """What measures no more than these criteria need."""
    valid = SimpleNamespace(
        engine=None,
        topology=Topology("single"),
        cache=None,
        request=SimpleNamespace(time_limit_s=None),
        instruments=Instruments(tracepoint=0),
    )
    hyperfine = Hyperfine("hyperfine", "1.18.0")
    return measurer(cast(ValidRequest, valid), {}, hyperfine, parse(criteria, METRICS))


@pytest.mark.parametrize(
    ("texts", "counts"),
    [([], True), (["cpu:10%"], False), (["cpu:10%", "syscalls:5%"], True)],
)
def test_system_calls_are_counted_unless_a_gate_asks_nothing_of_them(
    texts: list[str], counts: bool
) -> None:
    bench = measurer_of(*texts).bench
    assert (bench.tracepoint is not None) is counts


@pytest.mark.parametrize(
    ("texts", "wakes"),
    [
        ([], True),
        (["limit wakeups:5/s"], False),
        (["idle:10%", "startup:10%", "syscalls:5%"], False),
        (["idle:10%", "latency-p50:10%"], True),
        (["cpu:10%"], True),
    ],
)
def test_what_asks_about_the_window_alone_waits_for_no_answer(
    texts: list[str], wakes: bool
) -> None:
    assert measurer_of(*texts).bench.pokes is wakes


def test_a_shard_has_the_error_of_all_questions() -> None:
    # Rounds that fail where they are the only question, and not where there are a thousand.
    records = empty("one")
    asked = Gate(criteria=parse(["cpu:10%,each"], METRICS), most_rounds=30)
    alone = OpenQuestions(asked, records)
    shared = OpenQuestions(asked, records, empty(*map(str, range(1000))).values())
    for number, ratio in enumerate((1.2, 1.3, 1.25, 1.22) * 3, 1):
        for label, of in (("base", 1.0), ("new", ratio)):
            metrics = {BY_NAME["cpu"].key: of}
            records["one"].add(measurement(label, number, metrics))
    assert not alone.rounds_needed("one")
    assert shared.rounds_needed("one")


def test_what_is_asked_of_more_scenarios_than_a_shard_has_fails_nothing_by_itself() -> None:
    records = empty("one")
    elsewhere = empty("two", "three").values()
    criteria = parse(["cpu:10%", "cpu:300%,each"], METRICS)
    grow(records["one"], 22, cpu=3.0)

    def has_failed(*others: ScenarioResults) -> bool:
        judged = gate.judge_all(records.values(), criteria, others)
        return any(one.fails and not one.is_partial for one in judged)

    assert has_failed()
    assert not has_failed(*elsewhere)
    share = OpenQuestions(Gate(criteria=criteria, most_rounds=30), records, elsewhere)
    assert not share.rounds_needed("one"), "more rounds would not change what is known here"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("partitioned-silence", True),
        ("partitioned-long-input", True),
        ("dynamic-idle", True),
        ("partitioned", False),
        ("partitioned-heavy-map", False),
        ("partitioned-long-input-heavy-map", False),
        ("partitioned-launcher", False),
    ],
)
def test_dataflows_that_merely_wait_are_measured_side_by_side_unless_others_are_asked_for(
    name: str, expected: bool
) -> None:
    single = Topology("single")
    assert (name in concurrent_scenarios(SCENARIOS, DEFAULTS, single)) is expected
    criteria = (*DEFAULTS, *parse(("foreign-cpu:25%",), METRICS))
    assert not concurrent_scenarios(SCENARIOS, criteria, single)
    # The engine's launcher has fixed ports.
    by_launcher = concurrent_scenarios(SCENARIOS, DEFAULTS, Topology("launcher", 2))
    assert by_launcher == {"partitioned-silence"}


@pytest.mark.parametrize(
    ("window", "own", "is_beside"),
    [
        ("2", [], True),
        ('"until-exit"', [], False),
        ("2", ["foreign-cpu:25%"], False),
        ("2\nside_by_side = false", [], False),
        ("2", [f"{LIMIT}wakeups:5/s"], True),
        # Beside copies, which share pages, a worker would stay below its limit.
        ("2", [f"{LIMIT}memory:80MiB"], False),
        ("2", [f"{LIMIT}idle:1%"], True),
        # Switches count while a run waits for others, too.
        ("2", [f"{LIMIT}switches:40"], False),
    ],
)
def test_worker_files_that_wait_are_measured_side_by_side(
    window: str, own: list[str], is_beside: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"command = '{{revision}}'\nwindow = {window}\n")
    (scenario,) = scenarios_of(worker_file.read(path))
    criteria = (*DEFAULTS, *parse(own, (*METRICS, MEMORY)))
    names = concurrent_scenarios([scenario], criteria, Topology("single"))
    assert names == ({"mine"} if is_beside else set())
    for topology, is_shard in ((Topology("single"), True), (Topology("cluster", 2), False)):
        assert not concurrent_scenarios([scenario], criteria, topology, is_shard=is_shard)
