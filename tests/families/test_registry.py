"""The list of families: all scenarios, metrics, tables and commands, wherever they come from."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from waitbench import families
from waitbench.families import selection
from waitbench.model import metrics
from waitbench.model.scenario import CAPABILITIES, COMMAND, Scenario
from waitbench.system.places import ROOT


def test_scenarios_have_names_of_their_own_and_a_purpose() -> None:
    names = [scenario.name for scenario in families.ALL]
    assert len(set(names)) == len(names) == 21
    assert all(scenario.purpose for scenario in families.ALL)


def test_eight_scenarios_of_the_input_families_run_by_default() -> None:
    kinds = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")
    assert [scenario.name for scenario in families.ALL if scenario.by_default] == [
        family + kind for family in ("partitioned", "dynamic") for kind in kinds
    ]


def test_scenarios_that_wait_or_need_something_say_so() -> None:
    def names(chosen: list[Scenario]) -> set[str]:
        return {s.name.removeprefix("partitioned-").removeprefix("dynamic-") for s in chosen}

    assert names([s for s in families.ALL if s.waits]) == {
        "long-input", "long-input-heavy-map", "scheduled", "idle", "burst", "windowed", "notify",
        "ended", "silence", "launcher",
    }  # fmt: skip
    assert names([s for s in families.ALL if s.needs]) == {"scheduled", "windowed", "notify"}
    # What a worker file describes is a scenario made of that.
    assert {need for s in families.ALL for need in s.needs} == set(CAPABILITIES) - {COMMAND}


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


def test_importing_the_families_imports_nothing_heavy() -> None:
    heavy = ("matplotlib", "numpy", "rich", "scipy", "typer", "urllib.request")
    program = f"import sys; import waitbench.families; print(*(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
