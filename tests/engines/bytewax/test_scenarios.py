"""The scenarios of the dataflows, how they are started, and what a build looks at."""

import ast
from pathlib import Path

import pytest

from tests import standin
from tests.records import facts
from waitbench import engines
from waitbench.engines import SCENARIOS, selection
from waitbench.engines.bytewax import Bytewax
from waitbench.engines.bytewax.scenarios import Dataflow
from waitbench.model.launch import DataflowConfig
from waitbench.model.revision import Environment
from waitbench.model.scenario import Topology


def test_scenarios_have_names_of_their_own_and_a_purpose_and_eight_run_by_default() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    assert all(scenario.purpose for scenario in SCENARIOS)
    kinds = ("", "-long-input", "-heavy-map", "-long-input-heavy-map")
    assert [scenario.name for scenario in SCENARIOS if scenario.by_default] == [
        family + kind for family in ("partitioned", "dynamic") for kind in kinds
    ]


def test_a_setting_can_make_a_scenario_wait() -> None:
    for settings in (["idle=2"], ["long_input=true", "interval=0.5"]):
        (chosen,) = selection.select(["dynamic"], settings)
        assert chosen.waits
    (chosen,) = selection.select(["dynamic-burst"], ["long_input=false"])
    assert not chosen.waits


DATAFLOWS = [scenario for scenario in SCENARIOS if isinstance(scenario, Dataflow)]


@pytest.mark.parametrize("module", sorted({scenario.module for scenario in DATAFLOWS}))
def test_a_workload_takes_the_parameters_of_its_scenarios_and_no_others(module: Path) -> None:
    ours = [scenario for scenario in DATAFLOWS if scenario.module == module]
    tree = ast.parse(module.read_text("utf-8"))
    (function,) = (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "get_flow"
    )
    arguments = {argument.arg for argument in function.args.args}
    assert {name for scenario in ours for name in scenario.parameters} == arguments


INPUTS = {
    "src/lib.rs", "src/docs/guide.md", "pysrc/bytewax/run.py", "Cargo.toml", "Cargo.lock",
    "pyproject.toml", "rust-toolchain.toml", "build.rs", "vendor/timely/src/lib.rs",
    "migrations/20230206170933_initial.sql", ".cargo/config.toml", "setup.cfg",
}  # fmt: skip
OTHERS = {
    "docs/guide.md", "examples/simple.py", "pytests/test_run.py", "CHANGELOG.md",
    ".github/workflows/CI.yml", "Dockerfile.release", "requirements/dev.txt",
}  # fmt: skip


def test_a_build_looks_at_the_sources_and_not_at_documents_or_tests(tmp_path: Path) -> None:
    standin.git(tmp_path, "init", "--quiet")
    for name in INPUTS | OTHERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    standin.git(tmp_path, "add", "--all")
    listed = standin.git(tmp_path, "ls-files", "--", *Bytewax().build_paths)
    assert {*listed.splitlines()} == INPUTS


OWN, OTHER = "run-launches", ""


def arguments(capability: str, kind: str, processes: int, workers: int) -> tuple[str, ...]:
    (scenario,) = selection.select(("dynamic",), ())
    environment = Environment(Path("/environment"), facts(capabilities=frozenset({capability})))
    config = engines.DEFAULT.program(environment, scenario, Topology(kind, processes, workers))
    assert isinstance(config, DataflowConfig)
    return tuple(config.arguments)


@pytest.mark.parametrize("kind", ["single", "cluster"])
def test_a_module_that_is_a_launcher_too_starts_no_process_of_its_own(kind: str) -> None:
    assert arguments(OWN, kind, 1, 2)[-4:] == ("-i", "{index}", "-a", "{addresses}")
    assert "-i" not in arguments(OWN, kind, 1, 1)
    assert "-i" not in arguments(OTHER, kind, 1, 2)
    # The engine's own launcher is left to start them.
    assert "-i" not in arguments(OWN, "launcher", 2, 2)
    assert arguments(OTHER, "cluster", 2, 1)[-4:] == ("-i", "{index}", "-a", "{addresses}")
