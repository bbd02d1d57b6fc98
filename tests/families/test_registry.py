"""The list of families: all scenarios, metrics, tables and commands, wherever they come from."""

import ast
from pathlib import Path

import pytest

from tests.records import make_record
from waitbench import families
from waitbench.families import selection
from waitbench.model import metrics


def test_scenarios_have_names_of_their_own_and_a_purpose() -> None:
    names = [scenario.name for scenario in families.ALL]
    assert len(set(names)) == len(names) == 21
    assert all(scenario.purpose for scenario in families.ALL)


def test_eight_scenarios_of_the_input_families_run_by_default() -> None:
    kinds = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")
    assert [scenario.name for scenario in families.ALL if scenario.by_default] == [
        family + kind for family in ("partitioned", "dynamic") for kind in kinds
    ]


def test_a_setting_can_make_a_scenario_wait() -> None:
    for settings in (["idle=2"], ["long_input=true", "interval=0.5"]):
        (chosen,) = selection.select(["dynamic"], settings)
        assert chosen.waits
    (chosen,) = selection.select(["dynamic-burst"], ["long_input=false"])
    assert not chosen.waits


@pytest.mark.parametrize("module", sorted({scenario.module for scenario in families.ALL}))
def test_a_workload_takes_the_parameters_of_its_scenarios_and_no_others(module: Path) -> None:
    own = [scenario for scenario in families.ALL if scenario.module == module]
    tree = ast.parse(module.read_text("utf-8"))
    (function,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == own[0].call
    )
    asked = {argument.arg for argument in function.args.args}
    assert {name for scenario in own for name in scenario.parameters} == asked


def test_metrics_are_those_of_all_and_of_each_family_without_doubles() -> None:
    for field in ("name", "key"):
        values = [getattr(metric, field) for metric in families.METRICS]
        assert len(set(values)) == len(values)
    assert families.METRICS[: len(metrics.METRICS)] == metrics.METRICS


def test_the_family_of_an_old_record_is_that_of_the_scenario_with_its_name() -> None:
    record = make_record({"a": []}, scenario="dynamic-idle")
    assert families.family_of(record) == "standin"
    record.family = None
    assert families.family_of(record) == "dynamic"
    record.scenario = "flow"
    assert families.family_of(record) is None
