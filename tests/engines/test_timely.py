"""timely: how its program is named, built and started."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from waitbench import families
from waitbench.engines import named
from waitbench.environments.revisions import resolve
from waitbench.environments.sources import own_fingerprint
from waitbench.execution.bench import Bench
from waitbench.model.environment import Environment, Facts
from waitbench.model.scenario import Scenario, Topology, Value
from waitbench.system.places import Cache

ENGINE = named("timely")
SOURCES = ENGINE.own_sources or Path()
PORTABLE = [one for one in families.ALL if one.family.portable]
FACTS = Facts(
    python="3.12.0",
    package_version="0.32.0",
    extensions={},
    package_sha256="",
    requirements=(),
    compiler=None,
    capabilities=frozenset(),
)


def environment(**settings: str) -> Environment:
    return Environment(Path("/somewhere"), ENGINE.name, FACTS, settings)


def scenario(name: str) -> Scenario:
    return next(one for one in PORTABLE if one.name == name)


@pytest.mark.parametrize(
    ("name", "version"),
    [("0.32.0", "0.32.0"), ("v0.29.0", "0.29.0"), ("0.32", None), ("main", None), ("1.0a1", None)],
)
def test_a_release_has_three_numbers(name: str, version: str | None) -> None:
    assert ENGINE.version_of(name) == version


def test_the_program_is_told_every_parameter() -> None:
    start = ENGINE.start(environment(), scenario("partitioned-ended"), Topology("single"))
    program, workers, *told = start.arguments
    assert (program, workers) == ("/somewhere/bin/waitbench-timely", "1")
    assert {"partitions=16", "silent=1", "idle=5.0", "long_input=false"} <= set(told)
    assert start.processes == 1


def test_a_setting_goes_to_the_program_only_where_a_revision_has_it() -> None:
    idle, topology = scenario("partitioned-idle"), Topology("single", workers=2)
    without = ENGINE.start(environment(), idle, topology).arguments
    chosen = ENGINE.start(environment(idle_spin="0"), idle, topology).arguments
    assert chosen == (*without, "idle_spin=0")
    assert chosen[1] == "2"


def test_the_engine_says_which_parameters_the_program_knows() -> None:
    known = re.findall(r'"(\w+)"(?: \||\s*=>)', (SOURCES / "src" / "arguments.rs").read_text())
    parameters = set(ENGINE.parameters or ())
    assert parameters == set(known) - set(ENGINE.settings)
    assert all(parameters >= set(one.parameters) for one in PORTABLE if one.across_engines)


@pytest.mark.parametrize(("off", "on"), [(0.0, 0.5), (False, True), ("", "x")])
def test_a_parameter_that_the_program_does_not_know_matters_only_where_it_is_on(
    cache: Cache, off: Value, on: Value
) -> None:
    bench = Bench(environments={"x": environment()}, topology=Topology("single"), cache=cache)
    before = scenario("partitioned-long-input")
    idle, jittery = (
        replace(before, parameters={**before.parameters, "jitter": value}) for value in (off, on)
    )
    assert bench.what_is_missing(idle, "x") is None
    start = ENGINE.start(environment(), idle, Topology("single"))
    assert start == ENGINE.start(environment(), before, Topology("single"))
    assert bench.what_is_missing(jittery, "x") == "its program does not know jitter"


def test_two_versions_have_two_sources() -> None:
    revisions = resolve(["timely@0.29.0", "timely@v0.32.0"], {})
    assert len({own_fingerprint(revision) for revision in revisions}) == 2


def test_a_machine_without_rust_is_told_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lack = ENGINE.missing_prerequisite()
    assert lack is not None
    assert "rustup.rs" in lack
    for program in ("cargo", "rustc"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    assert ENGINE.missing_prerequisite() is None


def test_no_module_of_the_program_is_long() -> None:
    modules = sorted((SOURCES / "src").glob("*.rs"))
    assert modules
    for module in modules:
        lines = module.read_text().splitlines()
        assert len(lines) <= 250, module
        assert max(map(len, lines)) <= 100, module
