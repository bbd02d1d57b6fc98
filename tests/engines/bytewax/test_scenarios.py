"""The scenarios of the dataflows, and the metrics of all."""

import ast
from pathlib import Path

import pytest

from waitbench.engines import METRICS, SCENARIOS, selection
from waitbench.engines.bytewax.scenarios import Dataflow
from waitbench.model import metrics
from waitbench.model.scenario import CAPABILITIES, Scenario


def test_scenarios_have_names_of_their_own_and_a_purpose_and_eight_run_by_default() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names) == 21
    assert all(scenario.purpose for scenario in SCENARIOS)
    kinds = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")
    assert [scenario.name for scenario in SCENARIOS if scenario.by_default] == [
        family + kind for family in ("partitioned", "dynamic") for kind in kinds
    ]


def test_scenarios_that_wait_or_need_something_say_so() -> None:
    def names(chosen: list[Scenario]) -> set[str]:
        return {s.name.removeprefix("partitioned-").removeprefix("dynamic-") for s in chosen}

    assert names([s for s in SCENARIOS if s.waits]) == {
        "long-input", "long-input-heavy-map", "scheduled", "idle", "burst", "windowed", "notify",
        "ended", "silence", "launcher",
    }  # fmt: skip
    assert names([s for s in SCENARIOS if s.needs]) == {"scheduled", "notify"}
    assert {need for s in SCENARIOS for need in s.needs} == set(CAPABILITIES)


def test_a_setting_can_make_a_scenario_wait() -> None:
    for settings in (["idle=2"], ["long_input=true", "interval=0.5"]):
        (chosen,) = selection.select(["dynamic"], settings)
        assert chosen.waits
    (chosen,) = selection.select(["dynamic-burst"], ["long_input=false"])
    assert not chosen.waits


DATAFLOWS = [scenario for scenario in SCENARIOS if isinstance(scenario, Dataflow)]


@pytest.mark.parametrize("module", sorted({scenario.module for scenario in DATAFLOWS}))
def test_a_workload_takes_the_parameters_of_its_scenarios_and_no_others(module: Path) -> None:
    own = [scenario for scenario in DATAFLOWS if scenario.module == module]
    tree = ast.parse(module.read_text("utf-8"))
    (function,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == own[0].call
    )
    asked = {argument.arg for argument in function.args.args}
    assert {name for scenario in own for name in scenario.parameters} == asked


def test_metrics_are_those_of_all_and_of_worker_files_without_doubles() -> None:
    for field in ("name", "key"):
        values = [getattr(metric, field) for metric in METRICS]
        assert len(set(values)) == len(values)
    assert METRICS[: len(metrics.METRICS)] == metrics.METRICS
