"""What the gate is asked, and what this machine can answer."""

from dataclasses import replace
from pathlib import Path

from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines import METRICS, SCENARIOS
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker.scenarios import scenarios_of
from waitbench.model.metrics import Instruments
from waitbench.pipeline import gating
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.gating import Gate

OWN = parse(["syscalls:5%", "cpu:10%"], METRICS)
GATE = Gate(criteria=(*DEFAULTS, *OWN), most_rounds=10)


def test_the_defaults_come_before_what_is_named_and_nothing_is_asked_twice() -> None:
    names = ["cpu:10%", "cpu:10%"]
    assert gating.read_criteria(names, 16, defaults=True) == (*DEFAULTS, OWN[1])
    assert gating.read_criteria(names, 16, defaults=False) == (OWN[1],)
    assert gating.read_criteria([], 16, defaults=True) == DEFAULTS
    assert gating.read_criteria([], 1, defaults=False) == ()


def test_what_a_user_names_must_be_measured_and_a_default_need_not() -> None:
    assert GATE.needs == {"system_calls", "time_cpu"}
    assert replace(GATE, criteria=DEFAULTS).needs == frozenset()


def test_a_default_that_cannot_be_measured_is_left_out_and_said() -> None:
    fitting = GATE.supported_by(Instruments(reason="it is not mounted"), ())
    left = {c for c in DEFAULTS if str(c) == "syscalls:5%"}
    assert set(GATE.criteria) - set(fitting.criteria) == left
    assert set(OWN) <= set(fitting.criteria)
    assert fitting.left_out == (
        "syscalls:5%: not measured here: it is not mounted; ./waitbench doctor tells what would "
        "mend it.",
    )
    assert fitting.conclude([]).left_out == fitting.left_out
    assert fitting.as_settings()["left_out"] == list(fitting.left_out)


def test_of_a_worker_that_nothing_wakes_up_lateness_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("command = '{revision}'\n")
    (silent,) = scenarios_of(worker_file.read(path))
    path.write_text("command = '{revision}'\npoke = { command = 'true' }\n")
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
